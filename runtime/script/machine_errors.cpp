// SPDX-License-Identifier: Apache-2.0
// The errors of a run: what a script is told about the instruction that failed.
#include <cmath>
#include <utility>

#include "base/bytes/utf8.hpp"
#include "base/near_name.hpp"
#include "script/machine.hpp"
#include "script/syntax.hpp"

namespace narratoria::script {
namespace {

// A message does not show more of a value.
constexpr size_t kShownBytes = 1000;

// Converts a value to a string like ECMAScript, for the message about an index.
void append_converted(std::string& out, const Value& value, bool is_element = false) {
    if (value.is_list()) {
        const char* separator = "";
        for (const Value& element : value.elements()) {
            if (out.size() > kShownBytes) return;  // index_error() cuts it
            out += separator;
            append_converted(out, element, true);
            separator = ",";
        }
    } else if (value.is_object()) {
        out += "[object Object]";
    } else if (!is_element || !value.is_null()) {
        append_text(out, value);
    }
}

}  // namespace

void Machine::fail_without_place(const char* name, std::string message) {
    state_ = State::Failed;
    error_ = {name, std::move(message), 0, 0};
    call_ = {};
}

void Machine::fail_with(const char* name, std::string message) {
    fail_without_place(name, std::move(message));
    place(error_, program_->source(), current_byte());
}

void Machine::fail_on(const Value& value, const char* name, std::string message) {
    // The language calls both an object.
    const char* const hint = value.is_null()   ? "the value is null"
                             : value.is_list() ? "the value is a list"
                                               : "";
    fail_with(name, std::move(message));
    error_.hint = hint;
}

std::string Machine::hint_at_variable(std::string_view name) const {
    std::vector<std::string_view> names;
    for (const uint32_t each : order_) {
        names.push_back((each & kExtra) != 0 ? std::string_view(extras_[each & ~kExtra].name)
                                             : string(program_->variables_[each].name));
    }
    return ask_for_near_name(name, names);
}

std::string Machine::hint_at_key(std::string_view name, const Value& object) {
    std::vector<std::string_view> keys;
    for (const Member& member : object.members()) keys.push_back(member.key.text());
    return ask_for_near_name(name, keys);
}

// Fails because a limit forbids a value.
void Machine::refuse() {
    switch (memory_.refusal()) {
        case Memory::Refusal::Size:
            return fail_with("SizeLimitError", "A value is larger than the limit of " +
                                                   std::to_string(limits_.value_bytes) + " bytes");
        case Memory::Refusal::Depth:
            return fail_with("DepthLimitError", "A value is nested more than " +
                                                    std::to_string(limits_.depth) + " levels deep");
        default:
            return fail_with(
                "MemoryLimitError",
                "The values of the script and the records of its CALLs need more than " +
                    std::to_string(limits_.memory_bytes) + " bytes");
    }
}

void Machine::type_error(const char* kind, const char* symbol, const char* wanted,
                         const Value& left, const Value& right) {
    const bool is_left = left.is_null() || left.is_list();
    fail_on(is_left ? left : right, "TypeError",
            std::string(kind) + " operator '" + symbol + "' requires " + wanted +
                " operands, got " + type_name(left.type()) + " and " + type_name(right.type()) +
                ".");
}

// Fails because the operands of a binary operator are not valid.
void Machine::operand_error(const Instruction& instruction) {
    const Value& left = frame_[instruction.b];
    const Value& right = frame_[instruction.c];
    const auto arithmetic = [&](const char* symbol) {
        type_error("Arithmetic", symbol, "number", left, right);
    };
    const auto comparison = [&](const char* symbol) {
        type_error("Comparison", symbol, "number", left, right);
    };
    switch (instruction.operation) {
        case Operation::Add: return arithmetic("+");
        case Operation::Subtract: return arithmetic("-");
        case Operation::Multiply: return arithmetic("*");
        case Operation::Divide:
        case Operation::Remainder:
            if (left.is_number() && right.is_number()) {
                return fail_with("DivisionByZeroError", "Division by zero.");
            }
            return arithmetic(instruction.operation == Operation::Divide ? "/" : "%");
        case Operation::Less: return comparison("<");
        case Operation::LessEqual: return comparison("<=");
        case Operation::Greater: return comparison(">");
        case Operation::GreaterEqual: return comparison(">=");
        case Operation::And: return type_error("Logical", "AND", "boolean", left, right);
        default: return type_error("Logical", "OR", "boolean", left, right);
    }
}

void Machine::unary_error(const Instruction& instruction) {
    const Value& value = frame_[instruction.b];
    const char* const type = type_name(value.type());
    if (instruction.operation == Operation::Not) {
        return fail_on(
            value, "TypeError",
            std::string("Logical operator 'NOT' requires a boolean operand, got ") + type + ".");
    }
    fail_on(value, "TypeError",
            std::string("Unary operator '") +
                (instruction.operation == Operation::Negate ? '-' : '+') +
                "' requires a number operand, got " + type + ".");
}

void Machine::index_error(const Value& list, const Value& index) {
    if (!list.is_list()) {
        return fail_on(list, "TypeError",
                       std::string("Cannot access index on non-list value (type: ") +
                           type_name(list.type()) + ").");
    }
    std::string shown;
    append_converted(shown, index);
    if (shown.size() > kShownBytes) {
        size_t end = kShownBytes;
        while (end > 0 && utf8::continues(shown[end])) --end;
        shown.replace(end, std::string::npos, "…");
    }
    if (!index.is_number() || index.number() != std::trunc(index.number()) ||
        std::isinf(index.number())) {
        return fail_with("TypeError", std::string("List index must be an integer, got ") +
                                          type_name(index.type()) + " (" + shown + ").");
    }
    fail_with("IndexOutOfBoundsError", "Index " + shown + " is out of bounds for array of length " +
                                           std::to_string(list.elements().size()) + ".");
}

void Machine::member_error(const Instruction& instruction) {
    const Value& object = frame_[instruction.b];
    const std::string property(string(instruction.c));
    const std::string kind = kind_name(static_cast<NodeKind>(instruction.extra));
    if (object.is_object()) {
        fail_with(
            "MemberAccessError",
            "Property '" + property + "' does not exist on object resulting from '" + kind + "'.");
        error_.hint = hint_at_key(property, object);
        return;
    }
    fail_on(object, "MemberAccessError",
            "Cannot access property '" + property + "' on non-object value resulting from '" +
                kind + "' (type: " + type_name(object.type()) + ").");
}

}  // namespace narratoria::script
