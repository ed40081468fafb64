// SPDX-License-Identifier: Apache-2.0
#include "session/script_arguments.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "base/json/pointer.hpp"
#include "script/number_text.hpp"
#include "tool/tool_schema.hpp"

namespace narratoria::session {
namespace {

// The type that the schema sees in the value's JSON. 0: only the JSON can tell.
uint8_t type_bit(const script::Value& value) {
    switch (value.type()) {
        case script::Type::Null: return tool::NullBit;
        case script::Type::Boolean: return tool::BooleanBit;
        case script::Type::String: return tool::StringBit;
        case script::Type::List: return tool::ArrayBit;
        case script::Type::Object: return tool::ObjectBit;
        case script::Type::Number: {
            const double number = value.number();
            // Beyond 2^53 a number may still be an integer in JSON, which the schema decides.
            const bool is_integer =
                std::fabs(number) < 9007199254740992.0 && number == std::trunc(number);
            return is_integer ? tool::IntegerBit : tool::FractionBit;
        }
        case script::Type::Undefined: break;
    }
    return 0;
}

// True if the object certainly fits and has no unknown member. Relies on unique keys.
bool fits(const tool::Schema::PlainMembers& plain, const script::Value& arguments) {
    const auto& known = plain.members;
    uint32_t required = 0;
    size_t next = 0;
    for (const script::Member& each : arguments.members()) {
        const std::string_view name = each.key.text();
        // Members are usually in the order of the schema.
        if (next == known.size() || known[next].name != name) {
            const auto found = std::find_if(known.begin(), known.end(), [name](const auto& member) {
                return member.name == name;
            });
            if (found == known.end()) return false;
            next = static_cast<size_t>(found - known.begin());
        }
        if ((known[next].types & type_bit(each.value)) == 0) return false;
        required += known[next++].required;
    }
    return required == plain.required_count;
}

// Returns the value without members that the schema does not name, at any depth where it lists all
// members. Nothing: no such member. An undefined value: a limit was exceeded.
std::optional<script::Value> without_unnamed(const tool::Schema::Part& part,
                                             const script::Value& value, script::Memory& memory) {
    bool has_changed = false;
    const auto kept = [&](const std::optional<tool::Schema::Part>& below,
                          const script::Value& each) {
        auto less = below ? without_unnamed(*below, each, memory) : std::nullopt;
        has_changed |= less.has_value();
        return less ? std::move(*less) : each;
    };
    if (value.is_object()) {
        std::vector<script::Member> members;
        const bool lists_all = part.lists_its_members();
        for (const script::Member& each : value.members()) {
            if (lists_all && !part.names(each.key.text())) has_changed = true;
            else members.push_back({each.key, kept(part.of_member(each.key.text()), each.value)});
            if (!members.empty() && !members.back().value.is_defined()) return script::Value();
        }
        if (has_changed) return memory.object(std::move(members));
    } else if (value.is_list()) {
        const auto below = part.of_elements();
        if (!below) return {};
        std::vector<script::Value> elements;
        for (const script::Value& each : value.elements()) {
            elements.push_back(kept(below, each));
            if (!elements.back().is_defined()) return script::Value();
        }
        if (has_changed) {
            return memory.list(static_cast<uint32_t>(elements.size()),
                               [&](uint32_t i) { return elements[i]; });
        }
    }
    return {};
}

// The place of a fault in the schema: the positions of the members and elements on the way to it.
std::vector<size_t> place_of(tool::Schema::Part part, std::string_view pointer) {
    std::vector<size_t> place;
    std::string segment;
    for (std::string_view rest = pointer; !rest.empty();) {
        json::take_segment(rest, segment);
        std::optional<tool::Schema::Part> below;
        if (const auto position = part.position_of(segment)) {
            place.push_back(*position);
            below = part.of_member(segment);
        } else if ((below = part.of_elements())) {
            place.push_back(static_cast<size_t>(std::strtoull(segment.c_str(), nullptr, 10)));
        }
        if (!below) break;
        part = *below;
    }
    return place;
}

// The language reports faults in the order of the schema.
void sort_by_schema(const tool::Schema::Part& root, tool::SchemaFaults& faults) {
    std::stable_sort(faults.begin(), faults.end(), [&](const auto& one, const auto& other) {
        return place_of(root, one.pointer) < place_of(root, other.pointer);
    });
}

// Describes the first number that is not finite. Appends nothing if there is none.
void describe_not_finite(const script::Value& value, const std::string& place,
                         std::string& faults) {
    if (value.type() == script::Type::Number) {
        if (std::isfinite(value.number())) return;
        faults = "Parameter '" + place + "': Expected a finite number, received ";
        script::append_number_text(faults, value.number());
        return;
    }
    const auto look = [&](const script::Value& each, const std::string& name) {
        describe_not_finite(each, place.empty() ? name : place + '.' + name, faults);
        return !faults.empty();
    };
    size_t index = 0;
    if (value.is_list()) {
        for (const script::Value& each : value.elements()) {
            if (look(each, std::to_string(index++))) return;
        }
    } else if (value.is_object()) {
        for (const script::Member& each : value.members()) {
            if (look(each.value, std::string(each.key.text()))) return;
        }
    }
}

}  // namespace

// The tool's runner also checks its input. This check reports faults in the terms of the language.
bool ScriptArguments::check(const tool::Schema* schema, script::Value& arguments,
                            script::Memory& memory, std::string& faults) {
    json_.clear();
    if (schema == nullptr) return write_json(arguments, faults);
    const tool::Schema::PlainMembers* const plain = schema->plain_members();
    if (plain != nullptr && fits(*plain, arguments)) return write_json(arguments, faults);
    if (auto less = without_unnamed(schema->root(), arguments, memory)) {
        arguments = std::move(*less);
        if (!arguments.is_defined()) return true;  // beyond a limit, which the machine reports
    }
    if (!write_json(arguments, faults)) return false;
    json::ParseError error;
    if (!document_.parse(json_, error)) return true;
    auto found = schema->check(document_.root());
    sort_by_schema(schema->root(), found);
    if (!found.empty()) faults = tool::describe_as_parameters(found);
    return found.empty();
}

bool ScriptArguments::write_json(const script::Value& arguments, std::string& faults) {
    if (script::append_json(json_, arguments)) return true;
    describe_not_finite(arguments, {}, faults);
    return false;
}

}  // namespace narratoria::session
