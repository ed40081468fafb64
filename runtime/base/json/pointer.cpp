// SPDX-License-Identifier: Apache-2.0
#include "base/json/pointer.hpp"

#include <charconv>

#include "base/json/writer.hpp"

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

bool is_pointer(std::string_view text) {
    if (!text.empty() && text.front() != '/') return false;
    for (size_t at = text.find('~'); at != std::string_view::npos; at = text.find('~', at + 1)) {
        if (at + 1 == text.size() || (text[at + 1] != '0' && text[at + 1] != '1')) return false;
    }
    return true;
}

std::string nested(std::string_view pointer, std::string_view json) {
    std::string out, end, segment;
    while (!pointer.empty()) {
        take_segment(pointer, segment);
        append_string(out += '{', segment);
        out += ':';
        end += '}';
    }
    out.append(json).append(end);
    return out;
}

Value find_pointer(Value value, std::string_view pointer) {
    std::string segment;
    while (!pointer.empty()) {
        take_segment(pointer, segment);
        Value next;
        if (value.is_object()) {
            next = value.find(segment);
        } else if (value.is_array()) {
            size_t wanted = 0;
            const auto [end, failure] =
                std::from_chars(segment.data(), segment.data() + segment.size(), wanted);
            // RFC 6901: an array index must not have leading zeros.
            const bool canonical = segment == "0" || (!segment.empty() && segment[0] != '0');
            if (failure == std::errc() && end == segment.data() + segment.size() && canonical) {
                for (const Value element : value.elements()) {
                    if (wanted-- == 0) {
                        next = element;
                        break;
                    }
                }
            }
        }
        if (!next) return {};
        value = next;
    }
    return value;
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
