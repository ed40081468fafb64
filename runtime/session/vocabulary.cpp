// SPDX-License-Identifier: Apache-2.0
#include "session/vocabulary.hpp"

#include <algorithm>
#include <iterator>

#include "base/bytes/utf8.hpp"
#include "base/case_fold.hpp"

namespace narratoria::session {
namespace {

constexpr const char* kSmallWords[] = {"a", "an",     "the",  "some", "my",
                                       "i", "please", "just", "now",  "then"};

bool is_apostrophe(char32_t c) { return c == U'\'' || c == 0x2019; }

// White space and punctuation. Signs such as + and % are part of words.
bool separates(char32_t c) {
    static constexpr std::u32string_view kPunctuation =
        U".,;:!?\"()[]{}-\u00A1\u00AB\u00BB\u00BF\u3001\u3002\uFF01\uFF0C\uFF1F";
    return c == U' ' || (c >= U'\t' && c <= U'\r') || c == 0x00A0 || c == 0x3000 ||
           (c >= 0x2000 && c <= 0x203A && !is_apostrophe(c)) ||
           kPunctuation.find(c) != std::u32string_view::npos;
}

std::vector<Word> split(std::string_view text) {
    std::vector<Word> words;
    bool in_word = false;
    for (size_t at = 0; at < text.size();) {
        const size_t begin = at;
        const auto c = static_cast<char32_t>(utf8::decode(text, at));
        if (separates(c)) {
            in_word = false;
        } else if (!is_apostrophe(c)) {
            if (!in_word) words.emplace_back();
            in_word = true;
            Word& word = words.back();
            utf8::append(word.text, case_folded(c));
            word.offsets.resize(word.text.size(), begin);
            word.end = std::min(at, text.size());
        }
    }
    return words;
}

std::string joined(const std::vector<Word>& words, size_t first, size_t count) {
    std::string out;
    for (size_t i = first; i < first + count; ++i) {
        if (i > first) out += ' ';
        out += words[i].text;
    }
    return out;
}

}  // namespace

Vocabulary::Vocabulary() : ignored_(std::begin(kSmallWords), std::end(kSmallWords)) {}

void Vocabulary::ignore(const std::vector<std::string>& words) {
    ignored_.clear();
    for (const std::string& each : words) {
        for (const Word& word : split(each)) ignored_.insert(word.text);
    }
}

bool Vocabulary::add_synonym(std::string_view synonym, std::string_view phrase) {
    const std::vector<Word> its = kept(split(synonym)), meant = kept(split(phrase));
    std::vector<std::string> words;
    for (const Word& each : meant) words.push_back(each.text);
    longest_ = std::max(longest_, its.size());
    const std::string key = joined(its, 0, its.size());
    if (phrases_.erase(key) > 0) synonyms_.erase(key);
    const auto [found, is_new] = synonyms_.try_emplace(key, words);
    if (!is_new) return found->second == words;
    // If "lantern" means "storm lantern", "storm lantern" does not become "storm storm lantern".
    const auto part = std::search(meant.begin(), meant.end(), its.begin(), its.end(),
                                  [](const Word& a, const Word& b) { return a.text == b.text; });
    if (part != meant.end()) {
        longest_ = std::max(longest_, meant.size());
        std::string itself = joined(meant, 0, meant.size());
        if (synonyms_.try_emplace(itself, words).second) phrases_.insert(std::move(itself));
    }
    return true;
}

std::vector<Word> Vocabulary::words_of(std::string_view text) const {
    std::vector<Word> words = kept(split(text));
    if (synonyms_.empty()) return words;
    std::vector<Word> out;
    for (size_t at = 0; at < words.size();) {
        // The longest synonym that begins here.
        size_t count = std::min(longest_, words.size() - at);
        auto found = synonyms_.end();
        for (; count > 0; --count) {
            found = synonyms_.find(joined(words, at, count));
            if (found != synonyms_.end()) break;
        }
        if (count == 0) {
            out.push_back(std::move(words[at++]));
            continue;
        }
        for (const std::string& each : found->second) {
            out.push_back({each, std::vector<size_t>(each.size(), words[at].offsets.front()),
                           words[at + count - 1].end});
        }
        at += count;
    }
    return out;
}

size_t Vocabulary::count_words(std::string_view text) const { return kept(split(text)).size(); }

bool Vocabulary::ends_with_ignored(std::string_view text) const {
    const std::vector<Word> words = split(text);
    return !words.empty() && ignored_.contains(words.back().text);
}

size_t Vocabulary::begin_of_words(std::string_view text) {
    for (size_t at = 0; at < text.size();) {
        const size_t begin = at;
        const auto c = static_cast<char32_t>(utf8::decode(text, at));
        if (!separates(c) && !is_apostrophe(c)) return begin;
    }
    return std::string_view::npos;
}

bool Vocabulary::has_words(std::string_view text) {
    const std::vector<Word> words = split(text);
    return std::any_of(words.begin(), words.end(), [](const Word& each) {
        return std::any_of(each.text.begin(), each.text.end(),
                           [](char c) { return static_cast<unsigned char>(c) >= 0x20; });
    });
}

std::vector<Word> Vocabulary::kept(std::vector<Word> words) const {
    std::erase_if(words, [&](const Word& each) { return ignored_.contains(each.text); });
    return words;
}

}  // namespace narratoria::session
