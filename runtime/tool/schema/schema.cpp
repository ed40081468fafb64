// SPDX-License-Identifier: Apache-2.0
#include "tool/schema/schema.hpp"

#include <algorithm>

#include "base/json/writer.hpp"
#include "tool/schema/compiler.hpp"
#include "tool/schema/evaluator.hpp"
#include "tool/schema/program.hpp"

namespace narratoria::tool {

namespace {

// Longer lists of members are too slow for linear search.
constexpr size_t kPlainMembers = 32;

std::optional<Schema::PlainMembers> plain_members_of(const Program& program) {
    const Rule& root = program.rules[program.root];
    if (root.never || root.general != kNoRule || (root.types & ObjectBit) == 0) return std::nullopt;
    Schema::PlainMembers out;
    if (root.object == kNoRule) return out;
    const ObjectRules& object = program.objects[root.object];
    if (!object.patterns.empty() || !object.dependent_names.empty() ||
        !object.dependent_rules.empty() || object.names != kNoRule || object.least > 0 ||
        object.most != UINT64_MAX || object.properties.size() > kPlainMembers) {
        return std::nullopt;
    }
    for (const Property& each : object.properties) {
        // Only "required" names it, so "additionalProperties" applies to it.
        if (each.rule == kNoRule) return std::nullopt;
        const Rule& rule = program.rules[each.rule];
        if (!rule.plain || rule.never) return std::nullopt;
        out.members.push_back({each.name, rule.types, each.required != UINT32_MAX});
    }
    out.required_count = object.required_count;
    return out;
}

}  // namespace

Schema::Schema() : program_(std::make_unique<Program>()) {}
Schema::~Schema() = default;

std::shared_ptr<const Schema> Schema::compile(std::string_view text, Faults& faults) {
    std::shared_ptr<Schema> made(new Schema);
    if (!compile_schema(text, *made->program_, faults)) return nullptr;
    made->plain_ = plain_members_of(*made->program_);
    json::append_compact(made->text_, text);
    return made;
}

const Faults& Schema::misspelled() const { return program_->misspelled; }

bool Schema::accepts(json::Value value) const { return evaluate(*program_, value, nullptr); }

SchemaFaults Schema::check(json::Value value) const {
    SchemaFaults faults;
    if (!accepts(value)) evaluate(*program_, value, &faults);
    return faults;
}

namespace {

// Returns an upper bound of the types that a rule allows. Follows references up to `depth`.
uint8_t types_of(const Program& program, RuleIndex index, int depth) {
    const Rule& rule = program.rules[index];
    if (rule.never) return 0;
    uint8_t types = rule.types;
    if (rule.general == kNoRule || depth == 0) return types;
    const GeneralRules& general = program.generals[rule.general];
    const auto narrow = [&types](uint8_t to) { types = static_cast<uint8_t>(types & to); };
    const auto any_of = [&](const std::vector<RuleIndex>& list) {
        uint8_t all = 0;
        for (const RuleIndex each : list) all |= types_of(program, each, depth - 1);
        if (!list.empty()) narrow(all);
    };
    if (general.reference != kNoRule) narrow(types_of(program, general.reference, depth - 1));
    any_of(general.any_of);
    any_of(general.one_of);
    for (const RuleIndex each : general.all_of) narrow(types_of(program, each, depth - 1));
    if (general.has_allowed) {
        uint8_t all = 0;
        for (const json::Value each : general.allowed) all |= type_bit(each);
        narrow(all);
    }
    if (general.constant) narrow(type_bit(general.constant));
    return types;
}

// Deep enough for real schemas, and bounds the work of types_of().
constexpr int kTypeDepth = 3;

}  // namespace

uint8_t Schema::types() const { return types_of(*program_, program_->root, kTypeDepth); }

std::vector<Schema::Member> Schema::members() const {
    std::vector<Member> out;
    const Rule& rule = program_->rules[program_->root];
    if (rule.object == kNoRule) return out;
    for (const Property& each : program_->objects[rule.object].properties) {
        Member& member = out.emplace_back();
        member.name = each.name;
        member.required = each.required != UINT32_MAX;
        member.types = AllTypes;
        if (each.rule == kNoRule) continue;
        member.types = types_of(*program_, each.rule, kTypeDepth);
        const json::Value schema(&program_->document.root().tape(),
                                 program_->rules[each.rule].place);
        const json::Value text = schema.is_object() ? schema.find("description") : json::Value();
        if (text && text.is_string()) member.description = text.text();
    }
    return out;
}

Schema::Part Schema::root() const { return {*program_, program_->root}; }

bool Schema::Part::lists_its_members() const {
    const Rule& rule = program_->rules[rule_];
    if (rule.object == kNoRule || rule.general != kNoRule) return false;
    const ObjectRules& object = program_->objects[rule.object];
    return object.patterns.empty() && object.dependent_rules.empty() &&
           (object.additional == kNoRule || program_->rules[object.additional].never);
}

std::optional<size_t> Schema::Part::position_of(std::string_view member) const {
    const Rule& rule = program_->rules[rule_];
    if (rule.object == kNoRule) return {};
    const ObjectRules& object = program_->objects[rule.object];
    const Property* const found = object.find(member);
    if (found == nullptr) return {};
    return static_cast<size_t>(found - object.properties.data());
}

std::optional<Schema::Part> Schema::Part::of_member(std::string_view name) const {
    const Rule& rule = program_->rules[rule_];
    if (rule.object == kNoRule || rule.general != kNoRule) return {};
    const Property* const found = program_->objects[rule.object].find(name);
    if (found == nullptr || found->rule == kNoRule) return {};
    return Part(*program_, found->rule);
}

std::optional<Schema::Part> Schema::Part::of_elements() const {
    const Rule& rule = program_->rules[rule_];
    if (rule.array == kNoRule || rule.general != kNoRule) return {};
    const ArrayRules& array = program_->arrays[rule.array];
    if (array.rest == kNoRule || !array.prefix.empty()) return {};
    return Part(*program_, array.rest);
}

json::Value Schema::document() const { return program_->document.root(); }

std::string types_for_people(uint8_t types) {
    static constexpr struct {
        uint8_t bits;
        const char* name;
    } kNames[] = {{StringBit, "a string"},   {NumberBits, "a number"}, {IntegerBit, "an integer"},
                  {BooleanBit, "a boolean"}, {ArrayBit, "an array"},   {ObjectBit, "an object"},
                  {NullBit, "null"},         {FractionBit, "a number"}};
    std::vector<const char*> names;
    for (const auto& each : kNames) {
        if ((types & each.bits) != each.bits) continue;
        names.push_back(each.name);
        types = static_cast<uint8_t>(types & ~each.bits);
    }
    std::string out;
    for (size_t i = 0; i < names.size(); ++i) {
        if (i > 0) out += i + 1 == names.size() ? " or " : ", ";
        out += names[i];
    }
    return out;
}

std::string describe(const SchemaFaults& faults, std::string_view prefix) {
    std::string out;
    for (const SchemaFault& fault : faults) {
        if (!out.empty()) out += "; ";
        out += json::quoted(std::string(prefix) + fault.pointer) + " " + fault.message;
    }
    return out;
}

}  // namespace narratoria::tool
