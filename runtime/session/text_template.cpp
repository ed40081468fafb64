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

bool is_pointer_with_names(std::string_view pointer) {
    if (!json::is_pointer(pointer)) return false;
    if (pointer.find('{') == std::string_view::npos) return true;
    TemplateProblem problem;
    const auto parts = parse_template(pointer, problem);
    return parts && std::none_of(parts->begin(), parts->end(), [](const TemplatePart& part) {
               return part.is_name && kind_of(part.text) == NameKind::Typed;
           });
}

bool is_name(std::string_view name) {
    switch (kind_of(name)) {
        case NameKind::State: return is_pointer_with_names(name);
        case NameKind::Typed: return is_pointer_with_names(name.substr(name.find('/')));
        case NameKind::Tool: return is_tool_name(name);
        case NameKind::Plain: break;
    }
    return is_identifier(name);
}

std::string describe_bad_name(std::string_view name) {
    if (name.empty()) return "{} has no name; write {thing}, or {{}} for the braces";
    const size_t colon = name.find(':');
    if (colon != std::string_view::npos && is_identifier(name.substr(0, colon))) {
        return "what follows the : must be a JSON Pointer into the state, such as {thing:/things}";
    }
    return "the name between { and } must have only letters, digits and _, and not begin with a "
           "digit; write {{ and }} for braces";
}

// The position of the } of the name that begins at `at`, or npos. A name may contain names.
size_t end_of_name(std::string_view text, size_t at) {
    for (;;) {
        at = text.find_first_of("{}", at);
        if (at == std::string_view::npos || text[at] == '}') return at;
        at = text.find_first_of("{}", at + 1);
        if (at == std::string_view::npos || text[at] == '{') return std::string_view::npos;
        ++at;
    }
}

// The position of the | in a name, or npos. One in a name in the name belongs to that one.
size_t find_bar(std::string_view name) {
    bool is_inside = false;
    for (size_t at = 0; at < name.size(); ++at) {
        if (name[at] == '{' || name[at] == '}') is_inside = name[at] == '{';
        else if (name[at] == '|' && !is_inside) return at;
    }
    return std::string_view::npos;
}

// The text of a name.
std::optional<std::string> text_of_name(const TemplatePart& part, const NameLookup& lookup) {
    std::optional<std::string> text = lookup(part.text);
    return part.otherwise && (!text || text->empty()) ? part.otherwise : text;
}

}  // namespace

NameKind kind_of(std::string_view name) {
    if (name.starts_with('/')) return NameKind::State;
    const size_t colon = name.find(":/");
    if (colon != std::string_view::npos && is_identifier(name.substr(0, colon))) {
        return NameKind::Typed;
    }
    return name.find('.') != std::string_view::npos ? NameKind::Tool : NameKind::Plain;
}

std::optional<std::vector<TemplatePart>> parse_template(std::string_view text,
                                                        TemplateProblem& problem) {
    std::vector<TemplatePart> parts;
    auto append_text = [&](std::string_view plain) {
        if (plain.empty()) return;
        if (parts.empty() || parts.back().is_name) parts.push_back({false, {}, {}});
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
        const size_t close = end_of_name(text, at + 1);
        if (close == std::string_view::npos) {
            const size_t next = std::min(text.find_first_of("{}", at + 1), text.size());
            const NameKind kind = kind_of(text.substr(at + 1, next - at - 1));
            problem = {at, kind != NameKind::State && kind != NameKind::Typed
                               ? "a { without a } after it; write {{ for a brace"
                               : "a { without a } after it, or a name in a name in a name; a "
                                 "pointer may contain names such as {/place}, but those no others"};
            return std::nullopt;
        }
        std::string_view name = text.substr(at + 1, close - at - 1);
        TemplatePart part{true, {}, {}};
        const size_t bar = find_bar(name);
        if (bar != std::string_view::npos) {
            part.otherwise = name.substr(bar + 1);
            name = name.substr(0, bar);
            if (part.otherwise->find('{') != std::string::npos) {
                problem = {at, "what follows the | is plain text, without names"};
                return std::nullopt;
            }
        }
        if (!is_name(name)) {
            problem = {at, describe_bad_name(name)};
            return std::nullopt;
        }
        part.text = name;
        parts.push_back(std::move(part));
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
        if (part.is_name) out += text_of_name(part, lookup).value_or("{" + part.text + "}");
        else out += part.text;
    }
    return out;
}

bool may_have_name(json::Value value) {
    if (value.is_string()) return value.text().find_first_of("{}") != std::string_view::npos;
    if (value.is_array()) {
        for (const json::Value element : value.elements()) {
            if (may_have_name(element)) return true;
        }
    } else if (value.is_object()) {
        for (const json::Member member : value.members()) {
            if (may_have_name(member.value)) return true;
        }
    }
    return false;
}

bool is_one_name(std::string_view text) {
    TemplateProblem problem;
    const auto parts = parse_template(text, problem);
    return parts && parts->size() == 1 && parts->front().is_name && !parts->front().otherwise;
}

void append_expanded(std::string& out, json::Value value, const NameLookups& names) {
    if (value.is_array()) {
        const size_t begin = out.size();
        for (const json::Value element : value.elements()) {
            out += out.size() == begin ? '[' : ',';
            append_expanded(out, element, names);
        }
        out += out.size() == begin ? "[]" : "]";
    } else if (value.is_object()) {
        json::ObjectWriter object(out);
        for (const json::Member member : value.members()) {
            object.key(member.key);
            append_expanded(out, member.value, names);
        }
        object.end();
    } else if (value.is_string()) {
        const std::string_view text = value.text();
        const auto json = is_one_name(text) ? names.json(text.substr(1, text.size() - 2))
                                            : std::optional<std::string>();
        if (json) out += *json;
        else json::append_string(out, expand_template(text, names.text));
    } else {
        json::append_compact(out, value.raw());
    }
}

bool is_one_value(std::string_view text) {
    return is_one_name(text) && kind_of(text.substr(1, text.size() - 2)) != NameKind::Plain;
}

std::string pattern_of_pointer(std::string_view pointer) {
    TemplateProblem problem;
    const auto parts = pointer.find('{') == std::string_view::npos
                           ? std::nullopt
                           : parse_template(pointer, problem);
    if (!parts) return std::string(pointer);
    std::string out;
    bool is_in_segment = false;  // with a name
    for (const TemplatePart& part : *parts) {
        if (part.is_name) {
            out.resize(out.rfind('/') + 1);
            out += kAnySegment;
            is_in_segment = true;
            continue;
        }
        std::string_view text = part.text;
        if (is_in_segment) text.remove_prefix(std::min(text.find('/'), text.size()));
        out += text;
        is_in_segment = is_in_segment && text.empty();
    }
    return out;
}

std::optional<std::string> expand_pointer(std::string_view pointer, const NameLookup& text_of) {
    TemplateProblem problem;
    const auto parts = parse_template(pointer, problem);
    if (!parts) return std::nullopt;
    std::string out;
    for (const TemplatePart& part : *parts) {
        if (!part.is_name) {
            out += part.text;
            continue;
        }
        const std::optional<std::string> text = text_of_name(part, text_of);
        if (!text || text->empty()) return std::nullopt;
        std::string segment;
        json::append_pointer(segment, *text);
        out.append(segment, 1);
    }
    return out;
}

std::string shown(json::Value value) {
    if (!value || value.is_null()) return {};
    if (value.is_string()) return std::string(value.text());
    std::string out;
    const auto add = [&](std::string_view text) {
        if (!out.empty()) out += ", ";
        out += text;
    };
    if (value.is_array()) {
        for (const json::Value element : value.elements()) add(shown(element));
    } else if (value.is_object()) {
        for (const json::Member member : value.members()) add(member.key);
    } else {
        json::append_compact(out, value.raw());
    }
    return out;
}

}  // namespace narratoria::session
