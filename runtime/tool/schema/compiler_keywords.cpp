// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <unordered_set>
#include <utility>

#include "base/json/writer.hpp"
#include "tool/schema/schema_compiler.hpp"

namespace narratoria::tool {
namespace {

// Returns the property with this name, which is added if there is none.
Property& property_of(ObjectRules& rules, std::string_view name) {
    std::vector<Property>& all = rules.properties;
    const auto end = static_cast<uint32_t>(all.size());
    const uint32_t place =
        rules.index.find_or_add(name, end, [&all](uint32_t i) { return all[i].name; });
    return place == end ? all.emplace_back(Property{name}) : all[place];
}

}  // namespace

void Compiler::read_type(Parts& parts, Value value) {
    uint8_t types = 0;
    std::unordered_set<std::string_view> seen;
    const auto add = [&](Value name) {
        const auto bits = name.is_string() ? type_bits(name.text()) : std::nullopt;
        if (!bits) {
            fault(name,
                  "a type must be \"null\", \"boolean\", \"number\", \"integer\", \"string\", "
                  "\"array\" or \"object\"");
        } else if (!seen.insert(name.text()).second) {
            fault(name, json::quoted(name.text()) + " is listed twice; remove one");
        } else {
            types |= *bits;
        }
    };
    if (value.is_array()) {
        if (value.empty()) fault(value, "\"type\" must not be empty");
        for (const Value each : value.elements()) add(each);
    } else {
        add(value);
    }
    parts.rule.types = types;
}

void Compiler::read_enum(Parts& parts, Value value) {
    if (!value.is_array()) {
        fault(value, "\"enum\" must be an array of the allowed values");
        return;
    }
    GeneralRules& general = parts.general;
    bool all_texts = true;
    for (const Value each : value.elements()) {
        general.allowed.push_back(each);
        all_texts = all_texts && each.is_string();
    }
    if (all_texts) {
        for (const Value each : general.allowed) general.texts.push_back(each.text());
        std::sort(general.texts.begin(), general.texts.end());
    }
    general.has_allowed = parts.has_general = true;
}

void Compiler::read_const(Parts& parts, Value value) {
    parts.general.constant = value;
    parts.has_general = true;
}

void Compiler::read_multiple_of(Parts& parts, Value value) {
    number_into(parts.number.step, parts, value, "multipleOf");
    if (value.is_number() && !Decimal(value.text()).is_positive()) {
        fault(value, "\"multipleOf\" must be above 0");
    }
}

void Compiler::read_minimum(Parts& parts, Value value) {
    number_into(parts.number.minimum, parts, value, "minimum");
}

void Compiler::read_maximum(Parts& parts, Value value) {
    number_into(parts.number.maximum, parts, value, "maximum");
}

void Compiler::read_exclusive_minimum(Parts& parts, Value value) {
    if (value.is_boolean() && (parts.context.draft & (Draft4 | OpenDraft)) != 0) {
        parts.exclusive_minimum = value;
    } else if (parts.context.draft == Draft4) {
        fault(value, "\"exclusiveMinimum\" must be true or false in draft 4");
    } else {
        number_into(parts.number.above, parts, value, "exclusiveMinimum");
    }
}

void Compiler::read_exclusive_maximum(Parts& parts, Value value) {
    if (value.is_boolean() && (parts.context.draft & (Draft4 | OpenDraft)) != 0) {
        parts.exclusive_maximum = value;
    } else if (parts.context.draft == Draft4) {
        fault(value, "\"exclusiveMaximum\" must be true or false in draft 4");
    } else {
        number_into(parts.number.below, parts, value, "exclusiveMaximum");
    }
}

// Draft 4 has booleans that turn the limits into exclusive ones.
void Compiler::join_numbers(Parts& parts) {
    NumberRules& number = parts.number;
    if (parts.exclusive_minimum && parts.exclusive_minimum.boolean()) {
        number.above = number.minimum;
        number.minimum.reset();
    }
    if (parts.exclusive_maximum && parts.exclusive_maximum.boolean()) {
        number.below = number.maximum;
        number.maximum.reset();
    }
    if (number.step) return;
    const auto integer = [](const std::optional<Decimal>& limit, int64_t otherwise) {
        return limit ? limit->integer() : std::optional<int64_t>(otherwise);
    };
    const auto least = integer(number.minimum, INT64_MIN);
    const auto most = integer(number.maximum, INT64_MAX);
    const auto above = integer(number.above, INT64_MIN);
    const auto below = integer(number.below, INT64_MAX);
    if (!least || !most || !above || !below) return;
    number.has_range = true;
    number.least = number.above ? std::max(*least, *above + 1) : *least;
    number.most = number.below ? std::min(*most, *below - 1) : *most;
}

void Compiler::read_min_length(Parts& parts, Value value) {
    parts.has_string |= count_into(parts.string.least, value, "minLength");
}

void Compiler::read_max_length(Parts& parts, Value value) {
    parts.has_string |= count_into(parts.string.most, value, "maxLength");
}

void Compiler::read_pattern(Parts& parts, Value value) {
    if (!value.is_string()) {
        fault(value, "\"pattern\" must be a string");
        return;
    }
    parts.string.pattern = pattern_of(value, value.text());
    parts.string.pattern_text = value.text();
    parts.has_string = true;
}

void Compiler::read_items(Parts& parts, Value value) {
    if (value.is_array() && (parts.context.draft & Draft2020) != 0) {
        fault(value, "\"items\" must be a schema in draft 2020-12; use \"prefixItems\" for a list");
        return;
    }
    parts.items = value;
}

void Compiler::read_additional_items(Parts& parts, Value value) { parts.additional_items = value; }

void Compiler::read_prefix_items(Parts& parts, Value value) { parts.prefix_items = value; }

void Compiler::join_items(Parts& parts) {
    ArrayRules& array = parts.array;
    Value rest = parts.items;
    array.rest_keyword = "items";
    array.prefix_keyword = "prefixItems";
    if (parts.prefix_items) {
        array.prefix = schema_list(parts, parts.prefix_items, "prefixItems");
        parts.has_array = true;
    }
    if (parts.items && parts.items.is_array()) {
        if (parts.prefix_items) {
            fault(parts.items, "\"items\" must be a schema if \"prefixItems\" is used");
            return;
        }
        array.prefix_keyword = "items";
        array.rest_keyword = "additionalItems";
        for (const Value each : parts.items.elements()) {
            array.prefix.push_back(part(parts, each));
        }
        parts.has_array = true;
        rest = parts.additional_items;
    } else if (parts.additional_items) {
        part(parts, parts.additional_items);  // has no effect, but must be a valid schema
    }
    if (rest) {
        array.rest = part(parts, rest);
        parts.has_array = true;
    }
}

void Compiler::read_min_items(Parts& parts, Value value) {
    parts.has_array |= count_into(parts.array.least, value, "minItems");
}

void Compiler::read_max_items(Parts& parts, Value value) {
    parts.has_array |= count_into(parts.array.most, value, "maxItems");
}

void Compiler::read_unique_items(Parts& parts, Value value) {
    if (!value.is_boolean()) {
        fault(value, "\"uniqueItems\" must be true or false");
    } else if (value.boolean()) {
        parts.array.unique = parts.has_array = true;
    }
}

void Compiler::read_contains(Parts& parts, Value value) {
    parts.array.contains = part(parts, value);
    parts.array.contains_evaluates = (parts.context.draft & kSince2020) != 0;
    parts.has_array = true;
}

void Compiler::read_min_contains(Parts& parts, Value value) {
    count_into(parts.array.contains_least, value, "minContains");
}

void Compiler::read_max_contains(Parts& parts, Value value) {
    count_into(parts.array.contains_most, value, "maxContains");
}

void Compiler::read_properties(Parts& parts, Value value) {
    if (!is_object(value, "properties", "schemas")) return;
    for (const json::Member member : value.members()) {
        const RuleIndex rule = part(parts, member.value);
        Property& property = property_of(parts.object, member.key);
        if (property.rule != kNoRule) {
            fault(member.value, "schema-keyword-unique",
                  json::quoted(member.key) + " is set twice; remove one");
            continue;
        }
        property.rule = rule;
    }
    parts.has_object = true;
}

void Compiler::read_pattern_properties(Parts& parts, Value value) {
    if (!is_object(value, "patternProperties", "schemas")) return;
    for (const json::Member member : value.members()) {
        const Pattern* pattern = pattern_of(member.value, member.key);
        parts.object.patterns.push_back({pattern, part(parts, member.value)});
    }
    parts.has_object = true;
}

void Compiler::read_additional_properties(Parts& parts, Value value) {
    parts.object.additional = part(parts, value);
    parts.has_object = true;
}

void Compiler::read_property_names(Parts& parts, Value value) {
    parts.object.names = part(parts, value);
    parts.has_object = true;
}

void Compiler::read_min_properties(Parts& parts, Value value) {
    parts.has_object |= count_into(parts.object.least, value, "minProperties");
}

void Compiler::read_max_properties(Parts& parts, Value value) {
    parts.has_object |= count_into(parts.object.most, value, "maxProperties");
}

void Compiler::read_required(Parts& parts, Value value) {
    parts.required = value;
    parts.has_object = true;
}

// Properties keep the order of the schema, also if "required" comes before them.
void Compiler::join_members(Parts& parts) {
    if (!parts.required) return;
    std::vector<std::string_view> names;
    names_into(names, parts.required, "required");
    for (const std::string_view name : names) {
        property_of(parts.object, name).required = parts.object.required_count++;
    }
}

void Compiler::read_dependent_required(Parts& parts, Value value) {
    if (!is_object(value, "dependentRequired", "arrays of names")) return;
    for (const json::Member member : value.members()) {
        add_dependent_names(parts, member, "dependentRequired");
    }
}

void Compiler::add_dependent_names(Parts& parts, json::Member member, const char* keyword) {
    ObjectRules::DependentNames& made = parts.object.dependent_names.emplace_back();
    made.name = member.key;
    names_into(made.needs, member.value, keyword);
    parts.object.dependent_names_keyword = keyword;
    parts.has_object = true;
}

void Compiler::read_dependent_schemas(Parts& parts, Value value) {
    if (!is_object(value, "dependentSchemas", "schemas")) return;
    for (const json::Member member : value.members()) {
        add_dependent_rule(parts, member, "dependentSchemas");
    }
}

void Compiler::add_dependent_rule(Parts& parts, json::Member member, const char* keyword) {
    parts.object.dependent_rules.push_back({member.key, part(parts, member.value)});
    parts.object.dependent_rules_keyword = keyword;
    parts.has_object = true;
}

void Compiler::read_dependencies(Parts& parts, Value value) {
    if (!is_object(value, "dependencies", "schemas or arrays of names")) return;
    for (const json::Member member : value.members()) {
        if (member.value.is_array()) add_dependent_names(parts, member, "dependencies");
        else add_dependent_rule(parts, member, "dependencies");
    }
}

void Compiler::read_all_of(Parts& parts, Value value) {
    parts.general.all_of = schema_list(parts, value, "allOf");
    parts.has_general = true;
}

void Compiler::read_any_of(Parts& parts, Value value) {
    parts.general.any_of = schema_list(parts, value, "anyOf");
    parts.has_general = true;
}

void Compiler::read_one_of(Parts& parts, Value value) {
    parts.general.one_of = schema_list(parts, value, "oneOf");
    parts.has_general = true;
}

void Compiler::read_not(Parts& parts, Value value) {
    parts.general.negated = part(parts, value);
    parts.has_general = true;
}

void Compiler::read_if(Parts& parts, Value value) {
    parts.general.condition = part(parts, value);
    parts.has_general = true;
}

void Compiler::read_then(Parts& parts, Value value) { parts.then = part(parts, value); }

void Compiler::read_else(Parts& parts, Value value) { parts.otherwise = part(parts, value); }

void Compiler::read_unevaluated_items(Parts& parts, Value value) {
    parts.general.unevaluated_items = part(parts, value);
    parts.has_general = true;
}

void Compiler::read_unevaluated_properties(Parts& parts, Value value) {
    parts.general.unevaluated_members = part(parts, value);
    parts.has_general = true;
}

void Compiler::read_reference(Parts& parts, Value value) {
    refer(parts, value, ReferenceKind::Plain, "$ref");
}

void Compiler::read_dynamic_reference(Parts& parts, Value value) {
    refer(parts, value, ReferenceKind::Dynamic, "$dynamicRef");
}

void Compiler::read_recursive_reference(Parts& parts, Value value) {
    if (value.is_string() && value.text() != "#") {
        fault(value, "\"$recursiveRef\" must be \"#\"");
        return;
    }
    refer(parts, value, ReferenceKind::Recursive, "$recursiveRef");
}

void Compiler::refer(Parts& parts, Value value, ReferenceKind kind, const char* name) {
    if (!value.is_string()) {
        fault(value, json::quoted(name) + " must be a string");
        return;
    }
    references_.push_back({kind, parts.index, value, parts.context});
    parts.has_general = true;
}

void Compiler::read_definitions(Parts& parts, Value value) {
    if (!is_object(value, "$defs", "schemas")) return;
    for (const json::Member member : value.members()) {
        part(parts, member.value);
    }
}

void Compiler::read_content_schema(Parts& parts, Value value) { part(parts, value); }

void Compiler::read_text(Parts&, Value value) {
    if (!value.is_string()) fault(value, "must be a string");
}

void Compiler::read_flag(Parts&, Value value) {
    if (!value.is_boolean()) fault(value, "must be true or false");
}

void Compiler::read_list(Parts&, Value value) {
    if (!value.is_array()) fault(value, "must be an array");
}

const std::array<Compiler::Keyword, Compiler::kKeywordCount>& Compiler::keywords() {
    static const std::array<Keyword, kKeywordCount> table = {{
        {"$comment", kSince7, &C::read_text},
        {"$defs", kSince2019, &C::read_definitions},
        {"$dynamicRef", kSince2020, &C::read_dynamic_reference},
        {"$recursiveRef", Draft2019, &C::read_recursive_reference},
        {"$ref", kEvery, &C::read_reference},
        {"additionalItems", kEvery & ~Draft2020, &C::read_additional_items},
        {"additionalProperties", kEvery, &C::read_additional_properties},
        {"allOf", kEvery, &C::read_all_of},
        {"anyOf", kEvery, &C::read_any_of},
        {"const", kSince6, &C::read_const},
        {"contains", kSince6, &C::read_contains},
        {"contentEncoding", kSince7, &C::read_text},
        {"contentMediaType", kSince7, &C::read_text},
        {"contentSchema", kSince2019, &C::read_content_schema},
        {"definitions", kEvery, &C::read_definitions},
        {"dependencies", kEvery, &C::read_dependencies},
        {"dependentRequired", kSince2019, &C::read_dependent_required},
        {"dependentSchemas", kSince2019, &C::read_dependent_schemas},
        {"deprecated", kSince2019, &C::read_flag},
        {"description", kEvery, &C::read_text},
        {"else", kSince7, &C::read_else},
        {"enum", kEvery, &C::read_enum},
        {"examples", kSince6, &C::read_list},
        {"exclusiveMaximum", kEvery, &C::read_exclusive_maximum},
        {"exclusiveMinimum", kEvery, &C::read_exclusive_minimum},
        {"format", kEvery, &C::read_text},
        {"if", kSince7, &C::read_if},
        {"items", kEvery, &C::read_items},
        {"maxContains", kSince2019, &C::read_max_contains},
        {"maxItems", kEvery, &C::read_max_items},
        {"maxLength", kEvery, &C::read_max_length},
        {"maxProperties", kEvery, &C::read_max_properties},
        {"maximum", kEvery, &C::read_maximum},
        {"minContains", kSince2019, &C::read_min_contains},
        {"minItems", kEvery, &C::read_min_items},
        {"minLength", kEvery, &C::read_min_length},
        {"minProperties", kEvery, &C::read_min_properties},
        {"minimum", kEvery, &C::read_minimum},
        {"multipleOf", kEvery, &C::read_multiple_of},
        {"not", kEvery, &C::read_not},
        {"oneOf", kEvery, &C::read_one_of},
        {"pattern", kEvery, &C::read_pattern},
        {"patternProperties", kEvery, &C::read_pattern_properties},
        {"prefixItems", kSince2020, &C::read_prefix_items},
        {"properties", kEvery, &C::read_properties},
        {"propertyNames", kSince6, &C::read_property_names},
        {"required", kEvery, &C::read_required},
        {"then", kSince7, &C::read_then},
        {"title", kEvery, &C::read_text},
        {"type", kEvery, &C::read_type},
        {"unevaluatedItems", kSince2019, &C::read_unevaluated_items},
        {"unevaluatedProperties", kSince2019, &C::read_unevaluated_properties},
        {"uniqueItems", kEvery, &C::read_unique_items},
    }};
    return table;
}

}  // namespace narratoria::tool
