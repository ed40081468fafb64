// SPDX-License-Identifier: Apache-2.0
#include "session/prompt_pattern.hpp"

#include <algorithm>

#include "base/utf8.hpp"

namespace narratoria::session {
namespace {

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

bool ends_a_sentence(char c) { return c == '.' || c == '!' || c == '?'; }

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string_view without_end(std::string_view text) {
    while (!text.empty() && (is_space(text.back()) || ends_a_sentence(text.back()))) {
        text.remove_suffix(1);
    }
    return text;
}

std::string_view without_leading_space(std::string_view text) {
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    return text;
}

std::string normalized(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (size_t i = 0; i < text.size(); ++i) {
        if (!is_space(text[i])) out += lower(text[i]);
        else if (i == 0 || !is_space(text[i - 1])) out += ' ';
    }
    return out;
}

}  // namespace

NormalizedPrompt::NormalizedPrompt(std::string_view text) : original_(text) {
    const std::string_view kept = without_end(text);
    const size_t first = kept.size() - without_leading_space(kept).size();
    normalized_.reserve(kept.size() - first);
    offsets_.reserve(kept.size() - first + 1);
    for (size_t i = first; i < kept.size(); ++i) {
        if (is_space(kept[i]) && is_space(kept[i - 1])) continue;
        normalized_ += is_space(kept[i]) ? ' ' : lower(kept[i]);
        offsets_.push_back(i);
    }
    offsets_.push_back(kept.size());
}

std::optional<PromptPattern> PromptPattern::compile(std::string_view text,
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
    for (const TemplatePart& part : *parts) {
        if (!part.is_name) {
            std::string& literal =
                pattern.names_.empty() ? pattern.before_ : pattern.literals_.back();
            literal = normalized(part.text);
            continue;
        }
        if (part.text == "prompt") {
            problem = {text.find("{prompt}"),
                       "{prompt} stands for all that the player wrote and cannot be captured; "
                       "choose another name"};
            return std::nullopt;
        }
        if (std::find(pattern.names_.begin(), pattern.names_.end(), part.text) !=
            pattern.names_.end()) {
            problem = {text.rfind("{" + part.text + "}"),
                       "{" + part.text + "} is captured twice; choose another name"};
            return std::nullopt;
        }
        pattern.names_.push_back(part.text);
        pattern.literals_.emplace_back();
    }
    if (pattern.names_.empty() && pattern.before_.empty()) {
        problem = {0, "a pattern needs more than white space and . ! ?"};
        return std::nullopt;
    }
    return pattern;
}

// No backtracking: the first occurrence of a literal leaves the most text for the rest of the
// pattern. Only the last literal is anchored, at the end of the prompt.
bool PromptPattern::match(const NormalizedPrompt& prompt, Bindings& captures) const {
    const std::string_view text = prompt.text();
    captures.clear();
    if (names_.empty()) return text == before_;
    if (text.substr(0, before_.size()) != before_) return false;
    size_t at = before_.size();
    for (size_t i = 0; i < names_.size(); ++i) {
        if (at >= text.size()) return false;
        const std::string_view literal = literals_[i];
        const size_t begin = at;
        const size_t first_end = utf8::next(text, begin);
        size_t end = first_end;
        if (i + 1 == names_.size()) {
            if (text.size() < first_end + literal.size()) return false;
            end = text.size() - literal.size();
            if (text.substr(end) != literal) return false;
        } else if (!literal.empty()) {
            end = text.find(literal, first_end);
            if (end == std::string_view::npos) return false;
        }
        at = end + literal.size();
        captures.push_back({names_[i], prompt.original(begin, end)});
    }
    return true;
}

}  // namespace narratoria::session
