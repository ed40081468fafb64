// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace narratoria::utf8 {

// The length of the longest valid beginning of `text`; text.size() when all of it is UTF-8.
// Overlong forms, surrogates and code points over U+10FFFF are not valid.
size_t valid_prefix(std::string_view text);

inline bool is_valid(std::string_view text) { return valid_prefix(text) == text.size(); }

// `text` with every invalid byte replaced by U+FFFD.
std::string repaired(std::string_view text);

// Whether the invalid bytes at the front of `text` encode a surrogate (ED A0..BF xx).
bool is_surrogate(std::string_view text);

}  // namespace narratoria::utf8
