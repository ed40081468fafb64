// SPDX-License-Identifier: Apache-2.0
// The form of error codes.
#pragma once

#include <algorithm>
#include <string_view>

namespace narratoria::event {

// True for capital letters, digits and '_' after a capital letter: EXIT_STATUS.
inline bool is_error_code(std::string_view text) {
    auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
    return !text.empty() && is_upper(text[0]) && std::all_of(text.begin(), text.end(), [&](char c) {
        return is_upper(c) || (c >= '0' && c <= '9') || c == '_';
    });
}

}  // namespace narratoria::event
