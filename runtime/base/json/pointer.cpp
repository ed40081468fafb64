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

}  // namespace narratoria::json
