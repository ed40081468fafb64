// SPDX-License-Identifier: Apache-2.0
#include "base/json/pointer.hpp"

namespace narratoria::json {

void append_pointer(std::string& pointer, std::string_view segment) {
    pointer += '/';
    for (const char c : segment) {
        if (c == '~') pointer += "~0";
        else if (c == '/') pointer += "~1";
        else pointer += c;
    }
}

void append_pointer(std::string& pointer, size_t index) {
    pointer += '/';
    pointer += std::to_string(index);
}

void take_segment(std::string_view& pointer, std::string& segment) {
    pointer.remove_prefix(1);
    segment.clear();
    while (!pointer.empty() && pointer.front() != '/') {
        if (pointer.front() == '~') {
            segment += pointer[1] == '0' ? '~' : '/';
            pointer.remove_prefix(2);
        } else {
            segment += pointer.front();
            pointer.remove_prefix(1);
        }
    }
}

std::string pointer_to(Value root, uint32_t index) {
    std::string pointer;
    const Tape& tape = root.tape();
    const auto holds = [&](Value value) {
        return index >= value.index() && index < tape.next(value.index());
    };
    for (Value at = root; at && at.index() != index;) {
        Value inner;
        if (at.is_object()) {
            for (const Member member : at.members()) {
                if (!holds(member.value)) continue;
                append_pointer(pointer, member.key);
                inner = member.value;
                break;
            }
        } else if (at.is_array()) {
            size_t position = 0;
            for (const Value element : at.elements()) {
                if (holds(element)) {
                    append_pointer(pointer, position);
                    inner = element;
                    break;
                }
                ++position;
            }
        }
        at = inner;
    }
    return pointer;
}

}  // namespace narratoria::json
