// SPDX-License-Identifier: Apache-2.0
#include "session/state_operations.hpp"

#include <charconv>
#include <cmath>

#include "base/json/pointer.hpp"
#include "base/json/writer.hpp"
#include "base/strict_keys.hpp"
#include "session/condition.hpp"
#include "state/tree.hpp"
#include "tool/schema/same_value.hpp"

namespace narratoria::session {
namespace {

constexpr std::string_view kOperations[] = {"+", "add", "remove"};

bool parse(const std::string& text, json::Document& document) {
    json::ParseError error;
    return document.parse(text, error, json::kDepthOfOwn);
}

std::string sum(json::Value value, json::Value operand) {
    std::string out;
    const bool is_number = value && value.is_number();
    const auto a = is_number ? value.integer() : std::optional<int64_t>(0);
    const auto b = operand.integer();
    int64_t whole = 0;
    if (a && b && !__builtin_add_overflow(*a, *b, &whole)) {
        json::append_number(out, whole);
        return out;
    }
    const double real = (is_number ? value.number().value_or(0) : 0) + operand.number().value_or(0);
    if (!std::isfinite(real)) return std::string(value.raw());
    char digits[40];
    out.append(digits, std::to_chars(digits, digits + sizeof digits, real).ptr);
    return out;
}

// The list with the element appended unless it is there, or without it.
std::string list_with(json::Value list, json::Value element, bool is_wanted) {
    std::string out = "[";
    bool found = false;
    const auto append = [&](json::Value each) {
        if (out.size() > 1) out += ',';
        json::append_compact(out, each.raw());
    };
    if (list && list.is_array()) {
        for (const json::Value each : list.elements()) {
            uint64_t steps = 1'000'000;
            const bool is_same = tool::same_value(each, element, steps);
            found = found || is_same;
            if (is_wanted || !is_same) append(each);
        }
    }
    if (is_wanted && !found) append(element);
    return out += ']';
}

// Appends a value with the names in its texts replaced.
void append_expanded(std::string& out, json::Value value, const NameLookup& text_of,
                     const NameLookup& json_of) {
    if (value.is_array()) {
        const size_t begin = out.size();
        for (const json::Value element : value.elements()) {
            out += out.size() == begin ? '[' : ',';
            append_expanded(out, element, text_of, json_of);
        }
        out += out.size() == begin ? "[]" : "]";
    } else if (value.is_string()) {
        TemplateProblem problem;
        const auto parts = parse_template(value.text(), problem);
        if (parts && parts->size() == 1 && parts->front().is_name) {
            if (const auto json = json_of(parts->front().text)) {
                out += *json;
                return;
            }
        }
        json::append_string(out, expand_template(value.text(), text_of));
    } else {
        json::append_compact(out, value.raw());
    }
}

bool has_name(json::Value value) {
    if (value.is_array()) {
        for (const json::Value each : value.elements()) {
            if (has_name(each)) return true;
        }
        return false;
    }

    return value.is_null() ||
           (value.is_string() && value.text().find('{') != std::string_view::npos);
}

}  // namespace

bool is_within_list(json::Value state, std::string_view pointer) {
    for (size_t slash = pointer.find('/', 1); slash != std::string_view::npos;
         slash = pointer.find('/', slash + 1)) {
        const json::Value above = json::find_pointer(state, pointer.substr(0, slash));
        if (above && above.is_array()) return true;
    }
    return false;
}

std::string describe_within_list(std::string_view pointer) {
    return json::quoted(pointer) +
           " is within a list, of which only the whole can be set; \"add\" and \"remove\" change a "
           "list";
}

void StateOperationsReader::read(json::Value operations) const {
    if (!operations.is_object()) {
        return report(operations, R"("set" must be an object such as {"/door/open": true})");
    }
    for (const json::Member member : operations.members()) {
        const json::Value value = member.value;
        if (!member.key.starts_with('/') || !json::is_pointer(member.key)) {
            report(value, json::quoted(member.key) +
                              " is not a JSON Pointer into the state, such as \"/door/open\"");
            continue;
        }
        if (member.key.find('{') != std::string_view::npos) {
            report(value, "names are not replaced in " + json::quoted(member.key) +
                              "; a pointer must be written out");
            continue;
        }
        if (is_too_deep(member.key)) {
            report(value, kPointerTooDeep);
            continue;
        }
        if (!value.is_object()) {
            mention(value, member.key, has_name(value) ? std::string() : std::string(value.raw()));
            continue;
        }
        const KnownKeys known(kOperations);
        size_t count = 0;
        for (const json::Member each : value.members()) {
            ++count;
            if (!known.has(each.key)) {
                report(each.value, json::quoted(each.key) +
                                       " is not an operation; there are +, add and remove. Set "
                                       "the members of an object one by one");
            } else if (each.key == "+" && !each.value.is_number()) {
                report(each.value, "only a number can be added with +; \"add\" appends to a list");
            } else {
                // A sum is not known before the answer is given.
                const bool is_known = each.key != "+" && !has_name(each.value);
                mention(each.value, member.key,
                        is_known ? "[" + std::string(each.value.raw()) + "]" : std::string());
            }
        }
        if (count != 1) report(value, R"(write one operation, such as {"+": 1})");
    }
}

std::optional<std::string> patch_of(json::Value operations, json::Value state,
                                    const NameLookup& text_of, const NameLookup& json_of,
                                    std::string& why) {
    state::Tree patches;
    state::Patch patch;
    json::Document operand, document;
    for (const json::Member member : operations.members()) {
        if (is_within_list(state, member.key)) {
            why = describe_within_list(member.key);
            return std::nullopt;
        }
        std::string value;
        const json::Value before = json::find_pointer(state, member.key);
        if (!member.value.is_object()) {
            append_expanded(value, member.value, text_of, json_of);
        } else {
            for (const json::Member each : member.value.members()) {
                const bool is_sum = each.key == "+";
                if (before && before.type() != json::Type::Null &&
                    !(is_sum ? before.is_number() : before.is_array())) {
                    why = json::quoted(member.key) +
                          (is_sum ? " is not a number" : " is not a list") + ", so " +
                          json::quoted(each.key) + " cannot change it";
                    return std::nullopt;
                }
                std::string given;
                append_expanded(given, each.value, text_of, json_of);
                parse(given, operand);
                value = is_sum ? sum(before, operand.root())
                               : list_with(before, operand.root(), each.key == "add");
            }
        }
        parse(json::nested(member.key, value), document);
        patch.prepare_nulls(document.root());
        patches.merge(patch);
    }
    std::string out;
    patches.append_json(out);
    return out;
}

std::string difference(json::Value from, json::Value to) {
    std::string out;
    json::ObjectWriter patch(out);
    const bool is_object = from && from.is_object();
    for (const json::Member member : to.members()) {
        const json::Value before = is_object ? from.find(member.key) : json::Value();
        uint64_t steps = 1'000'000;
        if (before && tool::same_value(before, member.value, steps)) continue;
        const bool are_objects = before && before.is_object() && member.value.is_object();
        patch.raw(member.key,
                  are_objects ? difference(before, member.value) : std::string(member.value.raw()));
    }
    for (const json::Member member : is_object ? from.members() : json::Value().members()) {
        if (!to.find(member.key)) patch.raw(member.key, "null");
    }
    patch.end();
    return out;
}

}  // namespace narratoria::session
