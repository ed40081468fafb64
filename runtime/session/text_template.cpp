// SPDX-License-Identifier: Apache-2.0
#include "session/text_template.hpp"

#include <algorithm>

namespace narratoria::session {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

bool is_identifier(std::string_view name) {
    return !name.empty() && is_letter(name[0]) && std::all_of(name.begin(), name.end(), [](char c) {
        return is_letter(c) || (c >= '0' && c <= '9');
    });
}

}  // namespace

std::optional<std::vector<TemplatePart>> parse_template(std::string_view text,
                                                        TemplateProblem& problem) {
    std::vector<TemplatePart> parts;
    auto append_text = [&](std::string_view plain) {
        if (plain.empty()) return;
        if (parts.empty() || parts.back().is_name) parts.push_back({false, {}});
        parts.back().text.append(plain);
    };
    size_t at = 0;
    while (at < text.size()) {
        const size_t brace = std::min(text.find_first_of("{}", at), text.size());
        append_text(text.substr(at, brace - at));
        at = brace;
        if (at == text.size()) break;
        if (text.substr(at, 2) == "{{" || text.substr(at, 2) == "}}") {
            append_text(text.substr(at, 1));
            at += 2;
            continue;
        }
        if (text[at] == '}') {
            problem = {at, "a } without a { before it; write }} for a brace"};
            return std::nullopt;
        }
        const size_t close = text.find_first_of("{}", at + 1);
        if (close == std::string_view::npos || text[close] == '{') {
            problem = {at, "a { without a } after it; write {{ for a brace"};
            return std::nullopt;
        }
        const std::string_view name = text.substr(at + 1, close - at - 1);
        if (!is_identifier(name)) {
            problem = {at, name.empty()
                               ? "{} has no name; write {thing}, or {{}} for the braces"
                               : "the name between { and } must have only letters, digits and _, "
                                 "and not begin with a digit; write {{ and }} for braces"};
            return std::nullopt;
        }
        parts.push_back({true, std::string(name)});
        at = close + 1;
    }
    return parts;
}

std::string expand_template(std::string_view text, const Bindings& bindings) {
    TemplateProblem problem;
    const std::optional<std::vector<TemplatePart>> parts = parse_template(text, problem);
    if (!parts) return std::string(text);
    std::string out;
    for (const TemplatePart& part : *parts) {
        if (!part.is_name) {
            out += part.text;
            continue;
        }
        const auto bound = std::find_if(bindings.begin(), bindings.end(), [&](const Binding& each) {
            return each.name == part.text;
        });
        if (bound != bindings.end()) {
            out += bound->value;
        } else {
            out += '{';
            out += part.text;
            out += '}';
        }
    }
    return out;
}

}  // namespace narratoria::session
