// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which words of a prompt do not matter, and which ones mean the same.

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace narratoria::session {

// A word of a prompt, or the word that a synonym stands for.
struct Word {
    std::string text;             // without case and punctuation
    std::vector<size_t> offsets;  // in the prompt, of each byte of `text`
    size_t end = 0;               // in the prompt
};

// Immutable after its construction, so thread-safe.
class Vocabulary {
public:
    // Ignores English articles and other small words.
    Vocabulary();

    // Replaces the ignored words.
    void ignore(const std::vector<std::string>& words);
    // From now on `synonym` means the same as `phrase`. Both have at least one word that is not
    // ignored, so call ignore() before. Returns false
    // if the synonym means something else already.
    bool add_synonym(std::string_view synonym, std::string_view phrase);

    // The words of a text that are not ignored, with synonyms replaced.
    std::vector<Word> words_of(std::string_view text) const;
    // The number of words of a text that are not ignored.
    size_t count_words(std::string_view text) const;

    // True if the last word of a text is ignored.
    bool ends_with_ignored(std::string_view text) const;
    // The offset of the first word of a text, even of an ignored one, or npos.
    static size_t begin_of_words(std::string_view text);

    // True if the text has a word, even an ignored one, other than control characters.
    static bool has_words(std::string_view text);

    // The most words of a synonym, and of what it means: replacing them costs their product.
    static constexpr size_t kMostWords = 8;

private:
    std::vector<Word> kept(std::vector<Word> words) const;

    std::unordered_set<std::string> ignored_;
    std::unordered_map<std::string, std::vector<std::string>> synonyms_;  // words joined by spaces
    std::unordered_set<std::string> phrases_;  // of synonyms_: they stand for themselves
    size_t longest_ = 0;                       // words of the longest synonym
};

}  // namespace narratoria::session
