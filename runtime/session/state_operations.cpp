// SPDX-License-Identifier: Apache-2.0
#include "session/state_operations.hpp"

#include <charconv>
#include <cmath>
#include <deque>
#include <map>
#include <optional>

#include "base/json/pointer.hpp"
#include "base/json/writer.hpp"
#include "base/strict_keys.hpp"
#include "session/condition.hpp"
#include "tool/schema/same_value.hpp"

namespace narratoria::session {
namespace {

constexpr std::string_view kOperations[] = {"+", "add", "remove"};

// False if it is nested deeper than a state may be.
bool parse(const std::string& text, json::Document& document) {
    json::ParseError error;
    return document.parse(text, error);
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
    out += ']';
    return out;
}

bool is_known(json::Value value) { return !value.is_null() && !may_have_name(value); }

}  // namespace

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
        if (is_too_deep(member.key)) {
            report(value, kPointerTooDeep);
            continue;
        }
        check(value, member.key);
        if (!value.is_object()) {
            mention(value, member.key, is_known(value) ? std::string(value.raw()) : std::string());
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
            } else if (each.key == "+" && !each.value.is_number() &&
                       !(each.value.is_string() && is_one_value(each.value.text()))) {
                report(each.value, "only a number can be added with +; \"add\" appends to a list");
            } else {
                // A sum is not known before the answer is given.
                const bool is_element = each.key != "+" && is_known(each.value);
                mention(each.value, member.key,
                        is_element ? "[" + std::string(each.value.raw()) + "]" : std::string());
            }
        }
        if (count != 1) report(value, R"(write one operation, such as {"+": 1})");
    }
}

std::string apply(json::Value operations, const NameLookups& names, StateView& state) {
    json::Document operand;
    // With names two pointers may be the same: the operations then follow each other.
    std::map<std::string, json::Document, std::less<>> values;
    std::deque<json::Document> patches;
    for (const json::Member member : operations.members()) {
        const std::optional<std::string> pointer = expand_pointer(member.key, names.text);
        if (!pointer) return "a name in " + json::quoted(member.key) + " has no value";
        if (state.is_within_list(*pointer)) return describe_within_list(*pointer);
        std::string value;
        const auto earlier = values.find(*pointer);
        const json::Value before =
            earlier != values.end() ? earlier->second.root() : state.at(*pointer);
        if (!member.value.is_object()) {
            append_expanded(value, member.value, names);
        } else {
            for (const json::Member each : member.value.members()) {
                const bool is_sum = each.key == "+";
                if (before && before.type() != json::Type::Null &&
                    !(is_sum ? before.is_number() : before.is_array())) {
                    return json::quoted(*pointer) +
                           (is_sum ? " is not a number" : " is not a list") + ", so " +
                           json::quoted(each.key) + " cannot change it";
                }
                std::string given;
                append_expanded(given, each.value, names);
                parse(given, operand);
                if (is_sum && !operand.root().is_number()) {
                    return json::quoted(each.value.text()) +
                           " is not a number, so it cannot be added to " + json::quoted(*pointer);
                }
                value = is_sum ? sum(before, operand.root())
                               : list_with(before, operand.root(), each.key == "add");
            }
        }
        if (!parse(value, values[*pointer]) ||
            !parse(json::nested(*pointer, value), patches.emplace_back())) {
            return json::quoted(*pointer) + " would be nested too deeply";
        }
    }
    for (const json::Document& each : patches) state.merge(each.root());
    return {};
}

}  // namespace narratoria::session
