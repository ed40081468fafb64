// SPDX-License-Identifier: Apache-2.0
#include "script/completion.hpp"

#include <algorithm>

namespace narratoria::command::script {
namespace {

// Keywords, and functions with their opening parenthesis.
constexpr std::string_view kWords[] = {"AND",   "CALL",    "DO",   "ELSE", "END",  "FOR",   "IF",
                                       "IN",    "LET",     "NOT",  "OR",   "THEN", "true",  "null",
                                       "false", "FORMAT(", "GET(", "HAS(", "NOW(", "PRINT("};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name(char c) { return is_letter(c) || (c >= '0' && c <= '9'); }

// The host may set variables with any name. A script can read only those with these names.
bool is_variable(std::string_view name) {
    return !name.empty() && is_letter(name.front()) &&
           std::all_of(name.begin(), name.end(), is_name) &&
           std::find(std::begin(kWords), std::end(kWords), name) == std::end(kWords);
}

// One line is sufficient: strings and comments end at the end of the line.
bool is_in_string_or_comment(std::string_view line) {
    bool in_string = false;
    for (std::size_t at = 0; at < line.size(); ++at) {
        if (in_string && line[at] == '\\') ++at;
        else if (line[at] == '"') in_string = !in_string;
        else if (!in_string && line.substr(at, 2) == "//") return true;
    }
    return in_string;
}

std::string_view without_end(std::string_view text, bool (*belongs)(char)) {
    while (!text.empty() && belongs(text.back())) text.remove_suffix(1);
    return text;
}

}  // namespace

input::Completion complete(std::string_view before, const Names& tools, const Names& variables) {
    input::Completion found;
    if (is_in_string_or_comment(before)) return found;
    const std::string_view front = without_end(before, is_name);
    const std::string_view typed = before.substr(front.size());
    if (!typed.empty() && !is_letter(typed.front())) return found;
    const std::string_view previous =
        without_end(front, [](char c) { return c == ' ' || c == '\t'; });
    if (previous.ends_with('.')) return found;
    const bool is_call = previous.size() < front.size() &&
                         previous.substr(without_end(previous, is_name).size()) == "CALL";
    found.typed = typed.size();
    const auto add = [&](std::string_view word) {
        if (word.starts_with(typed)) found.words.emplace_back(word);
    };
    for (const std::string& name : is_call ? tools() : variables()) {
        if (is_call || is_variable(name)) add(name);
    }
    if (!is_call) std::for_each(std::begin(kWords), std::end(kWords), add);
    std::sort(found.words.begin(), found.words.end());
    found.words.erase(std::unique(found.words.begin(), found.words.end()), found.words.end());
    return found;
}

}  // namespace narratoria::command::script
