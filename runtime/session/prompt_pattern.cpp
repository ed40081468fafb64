// SPDX-License-Identifier: Apache-2.0
#include "session/prompt_pattern.hpp"

#include <algorithm>

#include "base/bytes/utf8.hpp"
#include "base/case_fold.hpp"

namespace narratoria::session {
namespace {

// In place of a capture. Not a character of a prompt.
constexpr char kCapture = '\x01';

// Bytes of the words that splits of a prompt compare with the names at places.
constexpr size_t kMostCompared = size_t{1} << 20;

bool ends_a_sentence(char32_t c) { return c == '.' || c == '!' || c == '?'; }

bool is_space(char32_t c) {
    return c == ' ' || (c >= '\t' && c <= '\r') || c == 0x00A0 || c == 0x2007 || c == 0x202F ||
           c == 0x3000;
}

char32_t character_at(std::string_view text, size_t at) {
    return static_cast<char32_t>(utf8::decode(text, at));
}

std::string_view without_end(std::string_view text) {
    while (!text.empty()) {
        const std::string_view last = utf8::suffix_of(text, 4);
        size_t at = text.size() - last.size();
        while (utf8::next(text, at) < text.size()) at = utf8::next(text, at);
        const char32_t character = character_at(text, at);
        if (!is_space(character) && !ends_a_sentence(character)) break;
        text = text.substr(0, at);
    }
    return text;
}

std::string_view without_leading_space(std::string_view text) {
    while (!text.empty() && is_space(character_at(text, 0))) {
        text.remove_prefix(utf8::next(text, 0));
    }
    return text;
}

// Calls `add` with each normalized character and its offset in `text`. Folds case and turns each
// run of white space into one space.
template <typename Add>
void normalize(std::string_view text, const Add& add) {
    bool was_space = false;
    for (size_t i = 0; i < text.size(); i = utf8::next(text, i)) {
        const char32_t character = character_at(text, i);
        const bool is_one = is_space(character);
        if (!is_one || !was_space) add(is_one ? U' ' : case_folded(character), i);
        was_space = is_one;
    }
}

std::string normalized(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    normalize(text, [&](char32_t character, size_t) { utf8::append(out, character); });
    return out;
}

bool has_names_of_the_state_only(std::string_view text) {
    TemplateProblem problem;
    const auto parts = parse_template(text, problem);
    return parts && std::all_of(parts->begin(), parts->end(), [](const TemplatePart& part) {
               return !part.is_name || kind_of(part.text) == NameKind::State;
           });
}

std::string words_of(std::string_view text, const Vocabulary& vocabulary) {
    return std::string(NormalizedPrompt(text, vocabulary).text());
}

}  // namespace

void each_name_at(json::Value place, const std::function<void(std::string_view name)>& use) {
    if (place && place.is_object()) {
        for (const json::Member member : place.members()) use(member.key);
    } else if (place && place.is_array()) {
        for (const json::Value element : place.elements()) {
            if (element.is_string()) use(element.text());
        }
    }
}

NormalizedPrompt::NormalizedPrompt(std::string_view text) : original_(text) {
    const std::string_view kept = without_end(text);
    const size_t first = kept.size() - without_leading_space(kept).size();
    normalized_.reserve(kept.size() - first);
    offsets_.reserve(kept.size() - first + 1);
    normalize(kept.substr(first), [&](char32_t character, size_t at) {
        utf8::append(normalized_, character);
        offsets_.resize(normalized_.size(), first + at);
    });
    offsets_.push_back(kept.size());
}

NormalizedPrompt::NormalizedPrompt(std::string_view text, const Vocabulary& vocabulary)
    : original_(text) {
    size_t end = 0;
    for (const Word& word : vocabulary.words_of(text)) {
        if (!normalized_.empty()) {
            normalized_ += ' ';
            offsets_.push_back(end);
        }
        normalized_ += word.text;
        offsets_.insert(offsets_.end(), word.offsets.begin(), word.offsets.end());
        end = word.end;
    }
    offsets_.push_back(end);
}

std::string_view NormalizedPrompt::original_with_small_words(size_t begin, size_t end) const {
    if (begin > 0 && normalized_[begin - 1] != ' ') return original(begin, end);
    const size_t from = begin == 0 ? 0 : offsets_[begin - 1];
    const std::string_view text = original_.substr(from, offsets_[end] - from);
    return text.substr(std::min(Vocabulary::begin_of_words(text), offsets_[begin] - from));
}

std::optional<PromptPattern> PromptPattern::compile(std::string_view text,
                                                    const Vocabulary& vocabulary,
                                                    TemplateProblem& problem) {
    std::optional<std::vector<TemplatePart>> parts = parse_template(text, problem);
    if (!parts) return std::nullopt;
    // Normalized like NormalizedPrompt, or the pattern could never match.
    if (!parts->empty() && !parts->front().is_name) {
        parts->front().text = without_leading_space(parts->front().text);
    }
    if (!parts->empty() && !parts->back().is_name) {
        parts->back().text = without_end(parts->back().text);
    }
    PromptPattern pattern;
    std::string marked;  // the text with kCapture for each capture
    std::string before;  // the text before a capture
    for (const TemplatePart& part : *parts) {
        if (!part.is_name) {
            std::string& literal =
                pattern.names_.empty() ? pattern.exact_.before : pattern.exact_.literals.back();
            literal = normalized(part.text);
            marked += part.text;
            before = part.text;
            continue;
        }
        const NameKind kind = kind_of(part.text);
        if (kind != NameKind::Plain && kind != NameKind::Typed) {
            problem = {text.find("{" + part.text + "}"),
                       "{" + part.text +
                           "} cannot be captured; a pattern captures names such as {thing}, or "
                           "{thing:/things} with the names at a place of the state"};
            return std::nullopt;
        }
        if (part.otherwise) {
            problem = {text.find("|"), "a pattern has no text for a missing name; write {" +
                                           part.text + "} without the |"};
            return std::nullopt;
        }
        const size_t end = std::min(part.text.find(':'), part.text.size());
        const std::string name = part.text.substr(0, end);
        if (name == "prompt") {
            problem = {text.find("{prompt"),
                       "{prompt} is the player's whole prompt and cannot be captured; choose "
                       "a different name"};
            return std::nullopt;
        }
        if (std::find(pattern.names_.begin(), pattern.names_.end(), name) != pattern.names_.end()) {
            problem = {text.rfind("{" + part.text + "}"),
                       "{" + name + "} is captured twice; choose a different name"};
            return std::nullopt;
        }
        if (!has_names_of_the_state_only(part.text)) {
            problem = {text.find("{" + part.text + "}"),
                       "the place in {" + part.text +
                           "} may contain names of the state, such as {/place}, and no others"};
            return std::nullopt;
        }
        if (pattern.names_.size() == kMostCaptures) {
            problem = {text.find("{" + part.text + "}"),
                       "a pattern has at most " + std::to_string(kMostCaptures) + " names"};
            return std::nullopt;
        }
        pattern.has_places_ = pattern.has_places_ || kind == NameKind::Typed;
        pattern.keep_small_words_.push_back(!vocabulary.ends_with_ignored(before));
        pattern.names_.push_back(name);
        pattern.places_.push_back(kind == NameKind::Typed ? part.text.substr(end + 1)
                                                          : std::string());
        pattern.exact_.literals.emplace_back();
        marked += kCapture;
        before.clear();
    }
    if (pattern.names_.empty() && pattern.exact_.before.empty()) {
        problem = {0, "a pattern needs more than white space and . ! ?"};
        return std::nullopt;
    }
    pattern.reduced_text_ = NormalizedPrompt(marked, vocabulary).text();
    // No reduced form without words of its own, unless the exact one has none either. And none if the
    // mark is a word of the vocabulary or of the pattern.
    const std::string& reduced = pattern.reduced_text_;
    const auto marks = static_cast<size_t>(std::count(reduced.begin(), reduced.end(), kCapture));
    const bool has_words = std::any_of(reduced.begin(), reduced.end(),
                                       [](char c) { return c != kCapture && c != ' '; });
    if (marks != pattern.names_.size() || (!has_words && Vocabulary::has_words(marked))) {
        pattern.reduced_text_.clear();
    }
    for (const char c : pattern.reduced_text_) {
        if (c == kCapture) pattern.reduced_.literals.emplace_back();
        else if (pattern.reduced_.literals.empty()) pattern.reduced_.before += c;
        else pattern.reduced_.literals.back() += c;
    }
    return pattern;
}

bool PromptPattern::matches(const PlayerWords& words, Bindings& captures) const {
    return match(exact_, words.exact, words.names, captures) ||
           (!reduced_text_.empty() && match(reduced_, words.reduced, words.names, captures));
}

bool PromptPattern::match(const Form& form, const NormalizedPrompt& prompt, PlaceNames* names,
                          Bindings& captures) const {
    captures.clear();
    if (names_.empty()) return prompt.text() == form.before;
    size_t compared = 0;
    return prompt.text().starts_with(form.before) &&
           match_rest(form, prompt, names, form.before.size(), compared, captures);
}

// Matches the captures from captures.size() on. Without places no other split can succeed: the first
// occurrence of a literal leaves the most text for the rest of the pattern. Only the last literal is
// anchored, at the end of the prompt.
bool PromptPattern::match_rest(const Form& form, const NormalizedPrompt& prompt, PlaceNames* names,
                               size_t at, size_t& compared, Bindings& captures) const {
    const std::string_view text = prompt.text();
    const size_t i = captures.size();
    if (i == names_.size()) return true;
    if (at >= text.size()) return false;
    const std::string_view literal = form.literals[i];
    const bool is_last = i + 1 == names_.size();
    const size_t begin = at;
    size_t end = utf8::next(text, begin);
    if (is_last) {
        if (text.size() < end + literal.size()) return false;
        end = text.size() - literal.size();
        if (text.substr(end) != literal) return false;
    } else {
        end = text.find(literal, end);
    }
    while (end != std::string_view::npos) {
        std::optional<std::string_view> value = prompt.original(begin, end);
        if (names != nullptr && !places_[i].empty()) {
            compared += end - begin;
            value = names->find(places_[i], *value);
        } else if (&form == &reduced_ && keep_small_words_[i]) {
            value = prompt.original_with_small_words(begin, end);
        }
        if (value) {
            captures.push_back({names_[i], *value});
            if (match_rest(form, prompt, names, end + literal.size(), compared, captures)) {
                return true;
            }
            captures.pop_back();
        }
        if (!has_places_ || is_last || ++compared >= kMostCompared) return false;
        end = text.find(literal, utf8::next(text, end));
    }
    return false;
}

std::optional<std::string_view> PlaceNames::find(const std::string& place, std::string_view words) {
    auto [known, is_new] = names_.try_emplace(place);
    if (is_new) {
        each_name_at(places_(place), [&, &names = known->second](std::string_view name) {
            // Reduced forms begin with a mark.
            names.insert_or_assign(std::string(NormalizedPrompt(name).text()), name);
            names.try_emplace(kCapture + words_of(name, vocabulary_), name);
        });
    }
    auto found = known->second.find(std::string(NormalizedPrompt(words).text()));
    if (found == known->second.end()) {
        const std::string wanted = words_of(words, vocabulary_);
        if (!wanted.empty()) found = known->second.find(kCapture + wanted);
    }
    if (found == known->second.end()) return std::nullopt;
    return found->second;
}

}  // namespace narratoria::session
