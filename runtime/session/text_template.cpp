// SPDX-License-Identifier: Apache-2.0
#include "session/text_template.hpp"

#include <algorithm>

#include "base/json/pointer.hpp"
#include "base/json/writer.hpp"

namespace narratoria::session {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

bool is_identifier(std::string_view name) {
    return !name.empty() && is_letter(name[0]) && std::all_of(name.begin(), name.end(), [](char c) {
        return is_letter(c) || (c >= '0' && c <= '9');
    });
}

// A toolId with letters, digits, _ and -, a dot, and a path.
bool is_tool_name(std::string_view name) {
    const size_t dot = name.find('.');
    return dot != std::string_view::npos && dot > 0 && dot + 1 < name.size() &&
           std::all_of(name.begin(), name.begin() + static_cast<std::ptrdiff_t>(dot),
                       [](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '-'; });
}

bool is_name(std::string_view name) {
    switch (kind_of(name)) {
        case NameKind::State: return json::is_pointer(name);
        case NameKind::Tool: return is_tool_name(name);
        case NameKind::Plain: break;
    }
    return is_identifier(name);
}

}  // namespace

NameKind kind_of(std::string_view name) {
    if (name.starts_with('/')) return NameKind::State;
    return name.find('.') != std::string_view::npos ? NameKind::Tool : NameKind::Plain;
}

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
        if (!is_name(name)) {
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

NameLookup look_up_in(const Bindings& bindings) {
    return [&bindings](std::string_view name) -> std::optional<std::string> {
        for (const Binding& each : bindings) {
            if (each.name == name) return std::string(each.value);
        }
        return std::nullopt;
    };
}

std::string expand_template(std::string_view text, const NameLookup& lookup) {
    TemplateProblem problem;
    const std::optional<std::vector<TemplatePart>> parts = parse_template(text, problem);
    if (!parts) return std::string(text);
    std::string out;
    for (const TemplatePart& part : *parts) {
        if (part.is_name) out += lookup(part.text).value_or("{" + part.text + "}");
        else out += part.text;
    }
    return out;
}

std::string shown(json::Value value) {
    if (!value || value.is_null()) return {};
    if (value.is_string()) return std::string(value.text());
    std::string out;
    if (!value.is_array()) {
        json::append_compact(out, value.raw());
        return out;
    }
    for (const json::Value element : value.elements()) {
        if (!out.empty()) out += ", ";
        out += shown(element);
    }
    return out;
}

}  // namespace narratoria::session
