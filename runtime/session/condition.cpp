// SPDX-License-Identifier: Apache-2.0
#include "session/condition.hpp"

#include <algorithm>
#include <optional>

#include "base/json/pointer.hpp"
#include "base/json/writer.hpp"
#include "base/near_name.hpp"
#include "base/strict_keys.hpp"
#include "session/text_template.hpp"
#include "tool/schema/same_value.hpp"

namespace narratoria::session {
namespace {

constexpr std::string_view kOperators[] = {"=",  "!=", "<",      "<=",      ">",
                                           ">=", "in", "exists", "contains"};

bool is_order(std::string_view key) { return key[0] == '<' || key[0] == '>'; }

// `value` is empty if the state does not have it.
bool equal(json::Value value, json::Value wanted) {
    if (!value) return wanted.is_boolean() && !wanted.boolean();
    uint64_t steps = 1'000'000;
    return tool::same_value(value, wanted, steps);
}

template <typename Values, typename Predicate>
bool any_of(const Values& values, Predicate&& is_wanted) {
    for (const json::Value each : values) {
        if (is_wanted(each)) return true;
    }
    return false;
}

bool satisfies(json::Value value, std::string_view key, json::Value operand) {
    if (key == "exists") return static_cast<bool>(value) == operand.boolean();
    if (key == "=") return equal(value, operand);
    if (key == "!=") return !equal(value, operand);
    if (key == "in") {
        return any_of(operand.elements(), [&](json::Value each) { return equal(value, each); });
    }
    if (key == "contains") {
        return value && value.is_array() &&
               any_of(value.elements(), [&](json::Value each) { return equal(each, operand); });
    }
    const std::optional<double> a = value ? value.number() : 0, b = operand.number();
    if (!a || !b) return false;
    if (key == "<") return *a < *b;
    if (key == "<=") return *a <= *b;
    if (key == ">") return *a > *b;
    return *a >= *b;
}

}  // namespace

bool is_too_deep(std::string_view pointer) {
    return std::count(pointer.begin(), pointer.end(), '/') > 32;
}

void ConditionReader::read(json::Value condition) const {
    if (condition.is_string()) return read_name(condition);
    if (!condition.is_object()) {
        return report(condition,
                      R"(a condition must be an object such as {"/torch/lit": true}, or the name )"
                      R"(of one in "conditions")");
    }
    for (const json::Member member : condition.members()) {
        if (member.key == "not") {
            read(member.value);
        } else if (member.key == "any" || member.key == "all") {
            read_list(member.value, member.key);
        } else if (!member.key.starts_with('/')) {
            report(member.value,
                   json::quoted(member.key) +
                       " is not a part of a condition; write a JSON Pointer into the state, such "
                       "as \"/torch/lit\", or \"not\", \"any\" or \"all\"");
        } else if (member.key.find('{') != std::string_view::npos) {
            report(member.value, "names are not replaced in " + json::quoted(member.key) +
                                     "; a pointer must be written out");
        } else if (is_too_deep(member.key)) {
            report(member.value, kPointerTooDeep);
        } else if (!json::is_pointer(member.key)) {
            report(member.value,
                   json::quoted(member.key) + " is not a JSON Pointer; ~ must be written as ~0");
        } else if (member.value.is_object()) {
            read_operators(member.key, member.value);
        } else {
            refuse_names(member.value);
            mention(member.value, member.key, std::string(member.value.raw()));
        }
    }
}

void ConditionReader::read_name(json::Value name) const {
    if (std::find(names.begin(), names.end(), name.text()) != names.end()) return;
    if (conditions && conditions.find(name.text())) {
        return report(name, "the condition " + json::quoted(name.text()) +
                                " is defined below; a condition may name only those above it");
    }
    const std::string meant = did_you_mean(near_name(name.text(), names));
    report(name,
           "there is no condition " + json::quoted(name.text()) +
               (meant.empty() ? "; define it in \"conditions\", above those that use it" : meant));
}

// A text such as "{thing}" would only be equal to itself.
void ConditionReader::refuse_names(json::Value operand) const {
    if (operand.is_array()) {
        for (const json::Value each : operand.elements()) refuse_names(each);
    } else if (operand.is_string()) {
        TemplateProblem problem;
        const auto parts = parse_template(operand.text(), problem);
        if (!parts) return;
        for (const TemplatePart& part : *parts) {
            if (!part.is_name) continue;
            return report(operand, "names are not replaced in conditions, and " +
                                       json::quoted(operand.text()) +
                                       " has one; write an entry for each value");
        }
    }
}

void ConditionReader::read_list(json::Value list, std::string_view key) const {
    if (!list.is_array() || list.empty()) {
        return report(list, json::quoted(key) + " must be a list of conditions");
    }
    for (const json::Value each : list.elements()) read(each);
}

void ConditionReader::read_operators(std::string_view pointer, json::Value operators) const {
    if (operators.empty())
        report(operators, "{} compares with nothing; write for example {\">\": 2}");
    const KnownKeys known(kOperators);
    for (const json::Member each : operators.members()) {
        const json::Value operand = each.value;
        if (!known.has(each.key)) {
            report(operand, json::quoted(each.key) +
                                " is not a comparison; there are =, !=, <, "
                                "<=, >, >=, in, contains and exists");
            continue;
        }
        if (is_order(each.key) && !operand.number()) {
            report(operand, "only numbers can be compared with " + std::string(each.key));
        } else if (each.key == "in" && !operand.is_array()) {
            report(operand, "\"in\" needs a list of values");
        } else if (each.key == "exists" && !operand.is_boolean()) {
            report(operand, "\"exists\" must be true or false");
        }
        refuse_names(operand);
        const std::string text(operand.raw());
        if (each.key == "in" && operand.is_array()) {
            for (const json::Value value : operand.elements()) {
                mention(value, pointer, std::string(value.raw()));
            }
            continue;
        }
        const bool compares = each.key == "=" || each.key == "!=";
        mention(operand, pointer,
                compares                 ? text
                : each.key == "contains" ? "[" + text + "]"
                                         : std::string());
    }
}

NamedConditions evaluate(json::Value conditions, json::Value state) {
    NamedConditions named;
    if (!conditions) return named;
    for (const json::Member member : conditions.members()) {
        named[member.key] = holds(member.value, state, named);
    }
    return named;
}

bool holds(json::Value condition, json::Value state, const NamedConditions& named) {
    if (!condition) return true;
    if (condition.is_string()) {
        const auto found = named.find(condition.text());
        return found != named.end() && found->second;
    }
    const auto is_true = [&](json::Value each) { return holds(each, state, named); };
    for (const json::Member member : condition.members()) {
        const json::Value wanted = member.value;
        if (member.key == "not") {
            if (is_true(wanted)) return false;
        } else if (member.key == "any") {
            if (!any_of(wanted.elements(), is_true)) return false;
        } else if (member.key == "all") {
            if (any_of(wanted.elements(), std::not_fn(is_true))) return false;
        } else {
            const json::Value value = json::find_pointer(state, member.key);
            if (!wanted.is_object()) {
                if (!equal(value, wanted)) return false;
                continue;
            }
            for (const json::Member each : wanted.members()) {
                if (!satisfies(value, each.key, each.value)) return false;
            }
        }
    }
    return true;
}

}  // namespace narratoria::session
