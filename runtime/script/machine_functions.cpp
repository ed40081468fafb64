// SPDX-License-Identifier: Apache-2.0
// The functions PRINT, FORMAT, HAS and GET.
#include <algorithm>
#include <utility>

#include "script/machine.hpp"

namespace narratoria::script {

bool Machine::print(const Value& value) {
    std::string line;
    append_text(line, value);
    printed_ += line.size() + 1;
    if (limits_.output_bytes > 0 && printed_ > limits_.output_bytes) {
        fail_with("OutputLimitError",
                  "The script prints more than " + std::to_string(limits_.output_bytes) + " bytes");
        return false;
    }
    if (on_output_) on_output_(line);
    else output_.push_back(std::move(line));
    return true;
}

bool Machine::format(const Value& text, const Value& object, Value& result) {
    if (!text.is_string()) {
        fail_on(text, "TypeError",
                std::string("FORMAT function's first argument must be a string, got ") +
                    type_name(text.type()));
        return false;
    }
    if (!object.is_object()) {
        fail_on(object, "TypeError",
                std::string("FORMAT function's second argument must be an object, got ") +
                    type_name(object.type()));
        return false;
    }
    const auto is_letter = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    };
    const std::string_view from = text.text();
    const uint64_t most = value_limit(limits_);
    std::string out;
    for (size_t at = 0; at < from.size();) {
        const size_t brace = std::min(from.find_first_of("{}", at), from.size());
        out += from.substr(at, brace - at);
        at = brace;
        if (at == from.size()) break;
        size_t end = at + 1;
        if (from[at] == '{' && end < from.size() && is_letter(from[end])) {
            while (end < from.size() &&
                   (is_letter(from[end]) || (from[end] >= '0' && from[end] <= '9'))) {
                ++end;
            }
            if (end < from.size() && from[end] == '}') {
                const std::string_view name = from.substr(at + 1, end - at - 1);
                const Value* const value = object.find(name);
                if (value == nullptr) {
                    fail_with("RuntimeError", "Key '" + std::string(name) +
                                                  "' not found in FORMAT arguments object");
                    error_.hint = hint_at_key(name, object);
                    return false;
                }
                append_text(out, *value);
                // Stop early: memory_.string() refuses the text below.
                if (out.size() > most) break;
                at = end + 1;
                continue;
            }
        }
        out += from[at];
        at += at + 1 < from.size() && from[at + 1] == from[at] ? 2 : 1;
    }
    result = memory_.string(out);
    if (result.is_defined()) return true;
    refuse();
    return false;
}

// HAS and GET: follows a path such as "exits.0.name" from member to member and element to element.
bool Machine::look_up(const Instruction& instruction, Value& result, uint64_t& work) {
    const bool is_get = instruction.c == 3;
    const char* const name = is_get ? "GET" : "HAS";
    Value at = take(program_->operands_[instruction.b]);
    const Value path = take(program_->operands_[instruction.b + 1]);
    Value otherwise = is_get ? take(program_->operands_[instruction.b + 2]) : Value();
    const auto refuse_argument = [&](const char* which, const char* wanted, const Value& given) {
        fail_on(given, "TypeError",
                std::string(name) + " function's " + which + " argument must be " + wanted +
                    ", got " + type_name(given.type()));
        return false;
    };
    if (!at.is_object() && !at.is_list()) {
        return refuse_argument("first", "an object or a list", at);
    }
    if (!path.is_string()) return refuse_argument("second", "a string", path);
    const std::string_view keys = path.text();
    work = keys.size();
    bool found = true;
    for (size_t begin = 0; found && begin <= keys.size();) {
        const size_t end = std::min(keys.find('.', begin), keys.size());
        const std::string_view key = keys.substr(begin, end - begin);
        begin = end + 1;
        const Value* next = nullptr;
        uint32_t index = 0;
        if (at.is_object()) {
            next = at.find(key);
        } else if (at.is_list() && is_integer_key(key, index) && index < at.elements().size()) {
            next = &at.elements()[index];
        }
        found = next != nullptr;
        if (found) at = Value(*next);
    }
    if (!is_get) result = Value::boolean(found);
    else result = found ? std::move(at) : std::move(otherwise);
    return true;
}

}  // namespace narratoria::script
