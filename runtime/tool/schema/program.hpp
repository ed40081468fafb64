// SPDX-License-Identifier: Apache-2.0
#pragma once
// The compiled form of a JSON Schema: a graph of rules in flat arrays. compiler.cpp creates it,
// evaluator.cpp runs it. Immutable after compilation.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/fault.hpp"
#include "base/json/tape.hpp"
#include "base/name_index.hpp"
#include "tool/schema/decimal.hpp"
#include "tool/schema/pattern.hpp"
#include "tool/schema/schema.hpp"

namespace narratoria::tool {

inline uint8_t type_bit(json::Value value) {
    switch (value.type()) {
        case json::Type::Null: return NullBit;
        case json::Type::False:
        case json::Type::True: return BooleanBit;
        case json::Type::String: return StringBit;
        case json::Type::Array: return ArrayBit;
        case json::Type::Object: return ObjectBit;
        case json::Type::Number: break;
    }
    return is_integer_text(value.text()) ? IntegerBit : FractionBit;
}

using RuleIndex = uint32_t;
inline constexpr RuleIndex kNoRule = UINT32_MAX;

struct NumberRules {
    std::optional<Decimal> minimum, maximum, above, below, step;
    // If every limit is a short integer: an integer from `least` to `most` fits.
    bool has_range = false;
    int64_t least = 0;
    int64_t most = 0;
};

struct StringRules {
    uint64_t least = 0;
    uint64_t most = UINT64_MAX;
    const Pattern* pattern = nullptr;
    std::string_view pattern_text;
};

struct ArrayRules {
    std::vector<RuleIndex> prefix;
    RuleIndex rest = kNoRule;
    std::string_view rest_keyword;
    std::string_view prefix_keyword;
    uint64_t least = 0;
    uint64_t most = UINT64_MAX;
    RuleIndex contains = kNoRule;
    uint64_t contains_least = 1;
    uint64_t contains_most = UINT64_MAX;
    bool contains_evaluates = true;
    bool unique = false;
};

struct Property {
    std::string_view name;
    RuleIndex rule = kNoRule;        // kNoRule: in "required" but not in "properties"
    uint32_t required = UINT32_MAX;  // index among the required members, or UINT32_MAX
};

struct ObjectRules {
    // The members of "properties" in the order of the schema, then names only in "required".
    std::vector<Property> properties;
    NameIndex index;  // of `properties`

    // NULL if there is none.
    const Property* find(std::string_view name) const {
        const uint32_t at = index.find(name, [this](uint32_t i) { return properties[i].name; });
        return at == NameIndex::kNone ? nullptr : &properties[at];
    }

    uint32_t required_count = 0;
    struct ByPattern {
        const Pattern* pattern;
        RuleIndex rule;
    };
    std::vector<ByPattern> patterns;
    RuleIndex additional = kNoRule;
    RuleIndex names = kNoRule;
    uint64_t least = 0;
    uint64_t most = UINT64_MAX;
    struct DependentNames {
        std::string_view name;
        std::vector<std::string_view> needs;
    };
    std::vector<DependentNames> dependent_names;
    struct DependentRule {
        std::string_view name;
        RuleIndex rule;
    };
    std::vector<DependentRule> dependent_rules;
    std::string_view dependent_names_keyword;
    std::string_view dependent_rules_keyword;
};

struct GeneralRules {
    json::Value constant;              // "const", or empty
    std::vector<json::Value> allowed;  // "enum"
    bool has_allowed = false;
    std::vector<std::string_view> texts;  // sorted; if all of `allowed` are strings
    std::vector<RuleIndex> all_of, any_of, one_of;
    RuleIndex negated = kNoRule;
    RuleIndex condition = kNoRule, then = kNoRule, otherwise = kNoRule;
    RuleIndex reference = kNoRule;
    // A reference with a target that depends on the path of the evaluation.
    RuleIndex dynamic = kNoRule;      // the target if nothing overrides it
    std::string_view dynamic_anchor;  // empty: $recursiveRef
    RuleIndex unevaluated_items = kNoRule;
    RuleIndex unevaluated_members = kNoRule;
};

struct Rule {
    uint8_t types = AllTypes;
    bool never = false;  // the schema false
    bool plain = true;   // only `types` and `never` matter
    uint32_t resource = 0;
    uint32_t place = 0;  // index of the schema on the tape
    // Indices of the rules of each kind, or kNoRule.
    uint32_t number = kNoRule, string = kNoRule, array = kNoRule, object = kNoRule;
    uint32_t general = kNoRule;
};

// A schema with its own "$id", or the whole document.
struct Resource {
    std::string uri;
    std::unordered_map<std::string_view, RuleIndex> dynamic_anchors;
    RuleIndex root = kNoRule;
    bool recursive_anchor = false;
};

struct Program {
    json::Document document;  // owns the memory of all names and texts
    std::vector<Rule> rules;
    RuleIndex root = 0;
    std::vector<NumberRules> numbers;
    std::vector<StringRules> strings;
    std::vector<ArrayRules> arrays;
    std::vector<ObjectRules> objects;
    std::vector<GeneralRules> generals;
    std::vector<std::unique_ptr<Pattern>> patterns;
    std::vector<Resource> resources;
    Faults misspelled;        // warnings about unknown keywords that are similar to known ones
    bool is_dynamic = false;  // a reference depends on the path of the evaluation
};

}  // namespace narratoria::tool
