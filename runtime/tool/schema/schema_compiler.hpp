// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compiles one schema. Only the three files of the compiler need this: compiler.cpp (schemas and
// their ids), compiler_keywords.cpp and compiler_references.cpp.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/fault.hpp"
#include "base/json/tape.hpp"
#include "tool/schema/decimal.hpp"
#include "tool/schema/program.hpp"
#include "tool/schema/schema.hpp"

namespace narratoria::tool {

using json::Value;

// Bits, so that a keyword can list its drafts. OpenDraft is for schemas without "$schema": 2020-12
// with the additional keywords of older drafts.
enum Draft : uint8_t {
    Draft4 = 1,
    Draft6 = 2,
    Draft7 = 4,
    Draft2019 = 8,
    Draft2020 = 16,
    OpenDraft = 32,
};
inline constexpr uint8_t kEvery = 63;
inline constexpr uint8_t kSince6 = kEvery & ~Draft4;
inline constexpr uint8_t kSince7 = kSince6 & ~Draft6;
inline constexpr uint8_t kSince2019 = kSince7 & ~Draft7;
inline constexpr uint8_t kSince2020 = Draft2020 | OpenDraft;
// Before 2019-09 a "$ref" replaces the schema that contains it.
inline constexpr uint8_t kReplacing = Draft4 | Draft6 | Draft7;

class Compiler {
public:
    Compiler(Program& out, Faults& faults) : out_(out), faults_(faults) {}

    bool run();

private:
    static constexpr uint32_t kNoResource = UINT32_MAX;

    struct Context {
        uint32_t resource;
        uint8_t draft;
    };
    struct Waiting {
        Value value;
        RuleIndex rule;
        Context context;
    };
    enum class ReferenceKind : uint8_t { Plain, Dynamic, Recursive };
    struct Reference {
        ReferenceKind kind;
        RuleIndex rule;
        Value text;
        Context context;
    };
    // The combined keywords of a schema.
    struct Parts {
        Rule rule;
        Context context{};
        RuleIndex index = 0;
        Value schema;
        NumberRules number;
        StringRules string;
        ArrayRules array;
        ObjectRules object;
        GeneralRules general;
        bool has_number = false, has_string = false, has_array = false, has_object = false;
        bool has_general = false;
        Value items, additional_items, prefix_items, required, exclusive_minimum, exclusive_maximum;
        RuleIndex then = kNoRule, otherwise = kNoRule;
    };
    using Handler = void (Compiler::*)(Parts&, Value);
    struct Keyword {
        std::string_view name;
        uint8_t drafts;
        Handler handler;
    };

    // ------------------------------------------------------------ compiler.cpp

    bool full() const;
    void fault(Value at, const char* rule, std::string message);
    void fault(Value at, std::string message);
    RuleIndex rule_of(Value value, Context context);
    void compile_waiting();
    void compile(const Waiting& waiting);
    void identify(Parts& parts, bool is_root);
    void take_id(Parts& parts, Value id, uint8_t draft, bool is_root);

    static std::string anchor_key(uint32_t resource, std::string_view name);
    void add_anchor(Parts& parts, std::string_view name);
    void read_keywords(Parts& parts);
    void warn_if_misspelled(json::Member member);
    void finish(Parts& parts);
    RuleIndex part(Parts& parts, Value value);
    std::vector<RuleIndex> schema_list(Parts& parts, Value value, const char* name);
    bool is_object(Value value, const char* name, const char* of);
    void number_into(std::optional<Decimal>& out, Parts& parts, Value value, const char* name);
    bool count_into(uint64_t& out, Value value, const char* name);
    void names_into(std::vector<std::string_view>& out, Value value, const char* name);

    // Returns NULL after a fault.
    const Pattern* pattern_of(Value at, std::string_view text);
    static std::optional<uint8_t> type_bits(std::string_view name);

    // ------------------------------------------------------------ compiler_keywords.cpp

    void read_type(Parts& parts, Value value);
    void read_enum(Parts& parts, Value value);
    void read_const(Parts& parts, Value value);
    void read_multiple_of(Parts& parts, Value value);
    void read_minimum(Parts& parts, Value value);
    void read_maximum(Parts& parts, Value value);
    void read_exclusive_minimum(Parts& parts, Value value);
    void read_exclusive_maximum(Parts& parts, Value value);
    void join_numbers(Parts& parts);
    void read_min_length(Parts& parts, Value value);
    void read_max_length(Parts& parts, Value value);
    void read_pattern(Parts& parts, Value value);
    void read_items(Parts& parts, Value value);
    void read_additional_items(Parts& parts, Value value);
    void read_prefix_items(Parts& parts, Value value);
    void join_items(Parts& parts);
    void read_min_items(Parts& parts, Value value);
    void read_max_items(Parts& parts, Value value);
    void read_unique_items(Parts& parts, Value value);
    void read_contains(Parts& parts, Value value);
    void read_min_contains(Parts& parts, Value value);
    void read_max_contains(Parts& parts, Value value);
    void read_properties(Parts& parts, Value value);
    void read_pattern_properties(Parts& parts, Value value);
    void read_additional_properties(Parts& parts, Value value);
    void read_property_names(Parts& parts, Value value);
    void read_min_properties(Parts& parts, Value value);
    void read_max_properties(Parts& parts, Value value);
    void read_required(Parts& parts, Value value);
    void join_members(Parts& parts);
    void read_dependent_required(Parts& parts, Value value);
    void add_dependent_names(Parts& parts, json::Member member, const char* keyword);
    void read_dependent_schemas(Parts& parts, Value value);
    void add_dependent_rule(Parts& parts, json::Member member, const char* keyword);
    void read_dependencies(Parts& parts, Value value);
    void read_all_of(Parts& parts, Value value);
    void read_any_of(Parts& parts, Value value);
    void read_one_of(Parts& parts, Value value);
    void read_not(Parts& parts, Value value);
    void read_if(Parts& parts, Value value);
    void read_then(Parts& parts, Value value);
    void read_else(Parts& parts, Value value);
    void read_unevaluated_items(Parts& parts, Value value);
    void read_unevaluated_properties(Parts& parts, Value value);
    void read_reference(Parts& parts, Value value);
    void read_dynamic_reference(Parts& parts, Value value);
    void read_recursive_reference(Parts& parts, Value value);
    void refer(Parts& parts, Value value, ReferenceKind kind, const char* name);
    void read_definitions(Parts& parts, Value value);
    void read_content_schema(Parts& parts, Value value);
    void read_text(Parts&, Value value);
    void read_flag(Parts&, Value value);
    void read_list(Parts&, Value value);

    // Sorted by name.
    using C = Compiler;
    static constexpr size_t kKeywordCount = 53;
    static const std::array<Keyword, kKeywordCount>& keywords();

    // ------------------------------------------------------------ compiler_references.cpp

    void resolve(Reference reference);
    RuleIndex target_of(uint32_t resource, const std::string& fragment);

    Value member_of(Value object, std::string_view name);

    Value step(Value at, std::string segment);

    // Calls `use` for each link to a rule that applies to the same value.
    template <typename Use>
    void for_each_same_value(const Rule& rule, Use use) {
        if (rule.object != kNoRule) {
            for (auto& each : out_.objects[rule.object].dependent_rules) use(each.rule);
        }
        if (rule.general == kNoRule) return;
        GeneralRules& general = out_.generals[rule.general];
        for (auto* list : {&general.all_of, &general.any_of, &general.one_of}) {
            for (RuleIndex& each : *list) use(each);
        }
        for (RuleIndex* each : {&general.negated, &general.condition, &general.then,
                                &general.otherwise, &general.reference, &general.dynamic}) {
            if (*each != kNoRule) use(*each);
        }
    }

    // Calls `use` for each link to a rule that applies to a part of the value.
    template <typename Use>
    void each_below(const Rule& rule, Use use) {
        const auto maybe = [&use](RuleIndex& link) {
            if (link != kNoRule) use(link);
        };
        if (rule.array != kNoRule) {
            ArrayRules& array = out_.arrays[rule.array];
            for (RuleIndex& each : array.prefix) use(each);
            maybe(array.rest);
            maybe(array.contains);
        }
        if (rule.object != kNoRule) {
            ObjectRules& object = out_.objects[rule.object];
            for (Property& each : object.properties) maybe(each.rule);
            for (auto& each : object.patterns) use(each.rule);
            maybe(object.additional);
            maybe(object.names);
        }
        if (rule.general != kNoRule) {
            maybe(out_.generals[rule.general].unevaluated_items);
            maybe(out_.generals[rule.general].unevaluated_members);
        }
    }

    void refuse_loops();
    void settle_dynamic_references();
    void shorten_references();

    Program& out_;
    Faults& faults_;
    size_t unknown_keywords_ = 0;
    std::vector<Waiting> waiting_;
    std::vector<Reference> references_;
    std::unordered_map<uint32_t, RuleIndex> rule_at_;     // by index on the tape
    std::unordered_map<uint32_t, uint32_t> resource_at_;  // by index on the tape
    std::unordered_map<std::string, uint32_t> resource_of_uri_;
    std::unordered_map<std::string, RuleIndex> anchors_;
    std::vector<uint8_t> draft_of_resource_;
    std::unordered_map<uint32_t, std::unordered_map<std::string_view, Value>> members_of_;
};

}  // namespace narratoria::tool
