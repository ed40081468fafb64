// SPDX-License-Identifier: Apache-2.0
#include "session/condition.hpp"

#include <algorithm>
#include <optional>

#include "base/json/pointer.hpp"
#include "base/json/writer.hpp"
#include "base/near_name.hpp"
#include "base/strict_keys.hpp"
#include "tool/schema/same_value.hpp"

namespace narratoria::session {
namespace {

constexpr std::string_view kOperators[] = {"=",  "!=", "<",      "<=",       ">",
                                           ">=", "in", "exists", "contains", "count"};

// Of numbers.
constexpr std::string_view kComparisons[] = {"=", "!=", "<", "<=", ">", ">="};

bool is_order(std::string_view key) { return key[0] == '<' || key[0] == '>'; }

bool is_false(json::Value value) { return !value || (value.is_boolean() && !value.boolean()); }

// A value is empty if the state does not have it.
bool equal(json::Value value, json::Value wanted) {
    if (!value || !wanted) return is_false(value) && is_false(wanted);
    uint64_t steps = 1'000'000;
    return tool::same_value(value, wanted, steps);
}

// An operand with its names replaced. Empty if it is a name without a value.
class Operand {
public:
    Operand(json::Value operand, const NameLookups& names) : value_(operand) {
        if (!may_have_name(operand)) return;
        value_ = {};
        if (operand.is_string() && is_one_name(operand.text())) {
            const std::string_view text = operand.text();
            if (!names.json(text.substr(1, text.size() - 2))) return;
        }
        std::string text;
        append_expanded(text, operand, names);
        json::ParseError error;
        if (document_.parse(text, error, json::kDepthOfOwn)) value_ = document_.root();
    }

    json::Value value() const { return value_; }

private:
    json::Document document_;
    json::Value value_;
};

// The number of elements of a list or of members of an object, 0 if there is no value; nothing for
// another value.
std::optional<double> count_of(json::Value value) {
    double count = 0;
    if (value && value.is_array()) {
        for ([[maybe_unused]] const json::Value each : value.elements()) ++count;
    } else if (value && value.is_object()) {
        for ([[maybe_unused]] const json::Member each : value.members()) ++count;
    } else if (value && !value.is_null()) {
        return std::nullopt;
    }
    return count;
}

bool compares(std::optional<double> a, std::string_view key, std::optional<double> b) {
    if (!a || !b) return false;
    if (key == "=") return *a == *b;
    if (key == "!=") return *a != *b;
    if (key == "<") return *a < *b;
    if (key == "<=") return *a <= *b;
    if (key == ">") return *a > *b;
    return *a >= *b;
}

std::optional<double> number_of(json::Value value) {
    return value ? value.number() : std::optional<double>(0);
}

template <typename Values, typename Predicate>
bool any_of(const Values& values, Predicate&& is_wanted) {
    for (const json::Value each : values) {
        if (is_wanted(each)) return true;
    }
    return false;
}

bool satisfies(json::Value value, std::string_view key, json::Value given,
               const NameLookups& names) {
    if (key == "exists") return static_cast<bool>(value) == given.boolean();
    if (key == "in") {
        return any_of(given.elements(),
                      [&](json::Value each) { return equal(value, Operand(each, names).value()); });
    }
    if (key == "count") {
        const std::optional<double> count = count_of(value);
        const auto is_as_wanted = [&](std::string_view comparison, json::Value number) {
            return compares(count, comparison, number_of(Operand(number, names).value()));
        };
        if (!given.is_object()) return is_as_wanted("=", given);
        for (const json::Member each : given.members()) {
            if (!is_as_wanted(each.key, each.value)) return false;
        }
        return true;
    }
    const Operand replaced(given, names);
    const json::Value operand = replaced.value();
    if (key == "=") return equal(value, operand);
    if (key == "!=") return !equal(value, operand);
    if (key == "contains") {
        return value && value.is_array() &&
               any_of(value.elements(), [&](json::Value each) { return equal(each, operand); });
    }
    return compares(number_of(value), key, number_of(operand));
}

// What ConditionReader::mention gets: a value with names is not known.
std::string operand_of(json::Value value) {
    return may_have_name(value) ? std::string() : std::string(value.raw());
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
        } else if (is_too_deep(member.key)) {
            report(member.value, kPointerTooDeep);
        } else if (!json::is_pointer(member.key)) {
            report(member.value,
                   json::quoted(member.key) + " is not a JSON Pointer; ~ must be written as ~0");
        } else {
            check(member.value, member.key);
            if (member.value.is_object()) {
                read_operators(member.key, member.value);
            } else {
                check_names(member.value);
                mention(member.value, member.key, operand_of(member.value));
            }
        }
    }
}

void ConditionReader::read_name(json::Value name) const {
    if (std::find(names.begin(), names.end(), name.text()) != names.end()) return use(name);
    if (conditions && conditions.find(name.text())) {
        return report(name, "the condition " + json::quoted(name.text()) +
                                " is defined below; a condition may name only those above it");
    }
    const std::string meant = did_you_mean(near_name(name.text(), names));
    report(name,
           "there is no condition " + json::quoted(name.text()) +
               (meant.empty() ? "; define it in \"conditions\", above those that use it" : meant));
}

void ConditionReader::check_names(json::Value operand) const {
    if (operand.is_string()) check(operand, operand.text());
    if (!operand.is_array()) return;
    for (const json::Value each : operand.elements()) check_names(each);
}

void ConditionReader::read_list(json::Value list, std::string_view key) const {
    if (!list.is_array() || list.empty()) {
        return report(list, json::quoted(key) + " must be a list of conditions");
    }
    for (const json::Value each : list.elements()) read(each);
}

void ConditionReader::read_count(json::Value operand) const {
    const auto read_number = [&](json::Value number) {
        const bool is_name = number.is_string() && is_one_value(number.text());
        if (!number.number() && !is_name) {
            report(number,
                   "\"count\" needs a number, or comparisons with numbers such as {\">\": 2}");
        }
        check_names(number);
    };
    if (!operand.is_object()) return read_number(operand);
    if (operand.empty()) report(operand, "{} compares with nothing; write for example {\">\": 2}");
    for (const json::Member each : operand.members()) {
        if (KnownKeys(kComparisons).has(each.key)) {
            read_number(each.value);
        } else {
            report(each.value, json::quoted(each.key) +
                                   " does not compare numbers; there are =, !=, <, <=, > and >=");
        }
    }
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
                                "<=, >, >=, in, contains, count and exists");
            continue;
        }
        if (each.key == "count") {
            read_count(operand);
            mention(operand, pointer, {});
            continue;
        }
        const bool is_name = operand.is_string() && is_one_value(operand.text());
        if (is_order(each.key) && !operand.number() && !is_name) {
            report(operand, "only numbers can be compared with " + std::string(each.key));
        } else if (each.key == "in" && !operand.is_array()) {
            report(operand, "\"in\" needs a list of values");
        } else if (each.key == "exists" && !operand.is_boolean()) {
            report(operand, "\"exists\" must be true or false");
        }
        check_names(operand);
        if (each.key == "in" && operand.is_array()) {
            for (const json::Value value : operand.elements()) {
                const bool is_known = !may_have_name(value);
                mention(is_known ? value : operand, pointer, operand_of(value));
            }
            continue;
        }
        std::string text = operand_of(operand);
        if (each.key == "contains" && !text.empty()) text = "[" + text + "]";
        const bool compares = each.key == "=" || each.key == "!=" || each.key == "contains";
        mention(operand, pointer, compares ? std::move(text) : std::string());
    }
}

NamedConditions evaluate(json::Value conditions, const StateView& state, const NameLookups& names) {
    NamedConditions named;
    if (!conditions) return named;
    for (const json::Member member : conditions.members()) {
        named[member.key] = holds(member.value, state, named, names);
    }
    return named;
}

bool holds(json::Value condition, const StateView& state, const NamedConditions& named,
           const NameLookups& names) {
    if (!condition) return true;
    if (condition.is_string()) {
        const auto found = named.find(condition.text());
        return found != named.end() && found->second;
    }
    const auto is_true = [&](json::Value each) { return holds(each, state, named, names); };
    for (const json::Member member : condition.members()) {
        const json::Value wanted = member.value;
        if (member.key == "not") {
            if (is_true(wanted)) return false;
        } else if (member.key == "any") {
            if (!any_of(wanted.elements(), is_true)) return false;
        } else if (member.key == "all") {
            if (any_of(wanted.elements(), std::not_fn(is_true))) return false;
        } else {
            const json::Value value = state.at(member.key, names.text);
            if (!wanted.is_object()) {
                if (!equal(value, Operand(wanted, names).value())) return false;
                continue;
            }
            for (const json::Member each : wanted.members()) {
                if (!satisfies(value, each.key, each.value, names)) return false;
            }
        }
    }
    return true;
}

}  // namespace narratoria::session
