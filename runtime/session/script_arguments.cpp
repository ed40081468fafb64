// SPDX-License-Identifier: Apache-2.0
#include "session/script_arguments.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "tool/tool_schema.hpp"

namespace narratoria::session {
namespace {

// As the schema sees the value's JSON. 0: not known without that.
uint8_t type_bit(const script::Value& value) {
    switch (value.type()) {
        case script::Type::Null: return tool::NullBit;
        case script::Type::Boolean: return tool::BooleanBit;
        case script::Type::String: return tool::StringBit;
        case script::Type::List: return tool::ArrayBit;
        case script::Type::Object: return tool::ObjectBit;
        case script::Type::Number: {
            const double number = value.number();
            // An infinite one is null in JSON. A fraction here may be a large integer there.
            if (!std::isfinite(number)) return 0;
            const bool is_integer =
                std::fabs(number) < 9007199254740992.0 && number == std::trunc(number);
            return is_integer ? tool::IntegerBit : tool::FractionBit;
        }
        case script::Type::Undefined: break;
    }
    return 0;
}

// True if the object surely fits and has no other members. No key stands in it twice.
bool fits(const tool::Schema::PlainMembers& plain, const script::Value& arguments) {
    const auto& known = plain.members;
    uint32_t required = 0;
    size_t next = 0;
    for (const script::Member& each : arguments.members()) {
        const std::string_view name = each.key.text();
        // They usually come in the order of the schema.
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

}  // namespace

// The tool's runner checks its input, too; here the faults are told in the words of the language.
bool ScriptArguments::check(const tool::Schema* schema, script::Value& arguments,
                            script::Memory& memory, std::string& faults) {
    json_.clear();
    if (schema == nullptr) return true;
    const tool::Schema::PlainMembers* const plain = schema->plain_members();
    if (plain != nullptr && fits(*plain, arguments)) return true;
    if (schema->lists_its_members()) {
        const auto is_known = [&](const script::Member& each) {
            return schema->has_member(each.key.text());
        };
        const auto members = arguments.members();
        if (!std::all_of(members.begin(), members.end(), is_known)) {
            std::vector<script::Member> kept;
            std::copy_if(members.begin(), members.end(), std::back_inserter(kept), is_known);
            arguments = memory.object(std::move(kept));
            if (!arguments.is_defined()) return true;  // beyond a limit, which the machine reports
        }
    }
    json::ParseError error;
    if (!document_.parse(json(arguments), error)) return true;
    const auto found = schema->check(document_.root());
    if (!found.empty()) faults = tool::describe_as_parameters(found);
    return found.empty();
}

const std::string& ScriptArguments::json(const script::Value& arguments) {
    if (json_.empty()) script::append_json(json_, arguments);
    return json_;
}

}  // namespace narratoria::session
