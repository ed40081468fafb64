// SPDX-License-Identifier: Apache-2.0
#pragma once
// Patterns for a player's prompts, such as "light {thing} please".

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/json/tape.hpp"
#include "session/text_template.hpp"
#include "session/vocabulary.hpp"

namespace narratoria::session {

// A prompt in the form in which it is compared with patterns. Keeps the original offset of each
// byte, because a capture returns the player's bytes unchanged.
class NormalizedPrompt {
public:
    // Folds case, turns each run of white space into one space, and removes white space at both
    // ends and . ! ? at the end. `text` is UTF-8 and must outlive the object.
    explicit NormalizedPrompt(std::string_view text);
    // Joins the words that matter by spaces.
    NormalizedPrompt(std::string_view text, const Vocabulary& vocabulary);

    std::string_view text() const { return normalized_; }
    std::string_view original(size_t begin, size_t end) const {
        return original_.substr(offsets_[begin], offsets_[end] - offsets_[begin]);
    }
    // The same, from the end of the word before on.
    std::string_view original_with_small_words(size_t begin, size_t end) const;

private:
    std::string_view original_;
    std::string normalized_;
    std::vector<size_t> offsets_;  // original offset of each byte, and of the end
};

// Returns the value at a pointer into the state, which may contain names.
using PlaceLookup = std::function<json::Value(std::string_view pointer)>;

// Calls `use` with each name that a capture such as {thing:/things} takes at its place: the keys of
// an object, or the texts of a list.
void each_name_at(json::Value place, const std::function<void(std::string_view name)>& use);

// The names at places of the state, by the words that mean them. Reads each place once.
class PlaceNames {
public:
    // `vocabulary` and the values of `places` must outlive the object.
    PlaceNames(const Vocabulary& vocabulary, PlaceLookup places)
        : vocabulary_(vocabulary), places_(std::move(places)) {}

    // Returns the name at a place that words mean, or nothing. A name in the same words comes before
    // one that differs in small words.
    std::optional<std::string_view> find(const std::string& place, std::string_view words);

private:
    const Vocabulary& vocabulary_;
    PlaceLookup places_;
    std::map<std::string, std::unordered_map<std::string, std::string_view>> names_;
};

// What the player wrote, in both forms. Without `names` a capture such as {thing:/things} takes any
// words.
struct PlayerWords {
    PlayerWords(std::string_view text, const Vocabulary& vocabulary,
                PlaceNames* its_names = nullptr)
        : exact(text), reduced(text, vocabulary), names(its_names) {}

    NormalizedPrompt exact;
    NormalizedPrompt reduced;
    PlaceNames* names;
};

// Matches whole prompts. A capture takes at least one character, and as few as possible. Matching
// is linear in the prompt's size; the worst case is prompt × pattern. Immutable after compile(), so
// thread-safe. A pattern has at most kMostCaptures.
//
// A capture such as {thing:/things} takes only words that mean a name at that place of the state,
// and is then that name. Of several such captures other splits are tried, until a megabyte of words
// was compared.
class PromptPattern {
public:
    static std::optional<PromptPattern> compile(std::string_view text, const Vocabulary& vocabulary,
                                                TemplateProblem& problem);

    const std::vector<std::string>& names() const { return names_; }
    // The pointer into the state of each name; empty if it takes any words.
    const std::vector<std::string>& places() const { return places_; }
    bool has_places() const { return has_places_; }

    static constexpr size_t kMostCaptures = 64;
    // The words that matter, with \x01 for each capture.
    const std::string& reduced() const { return reduced_text_; }

    // True if it has no word of its own.
    bool takes_anything() const { return reduced_text_ == "\x01" && !has_places(); }

    // On a match, these fill `captures` with views into the prompt, into this pattern and into the
    // state. The first one compares the exact forms, and takes any words for each capture; the second
    // one compares the reduced forms, too.
    bool matches_exactly(const NormalizedPrompt& prompt, Bindings& captures) const {
        return match(exact_, prompt, nullptr, captures);
    }
    bool matches(const PlayerWords& words, Bindings& captures) const;

private:
    struct Form {
        std::string before;                 // the text before the first capture
        std::vector<std::string> literals;  // after each capture; only the last is anchored
    };
    // `names` NULL: each capture takes any words.
    bool match(const Form& form, const NormalizedPrompt& prompt, PlaceNames* names,
               Bindings& captures) const;
    bool match_rest(const Form& form, const NormalizedPrompt& prompt, PlaceNames* names, size_t at,
                    size_t& compared, Bindings& captures) const;

    std::vector<std::string> names_;   // of the captures
    std::vector<std::string> places_;  // as many
    bool has_places_ = false;
    // As many: the capture may begin with an ignored word, because the text before it does not end
    // with one.
    std::vector<bool> keep_small_words_;
    Form exact_;
    Form reduced_;
    std::string reduced_text_;
};

}  // namespace narratoria::session
