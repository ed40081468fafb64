// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace narratoria::utf8 {

// Length of the longest valid UTF-8 prefix of `text`; text.size() if all of it is valid. Overlong
// forms, surrogates and code points above U+10FFFF are invalid.
size_t valid_prefix(std::string_view text);

inline bool is_valid(std::string_view text) { return valid_prefix(text) == text.size(); }

// Returns `text` with each invalid byte replaced by U+FFFD.
std::string repaired(std::string_view text);

// True if the invalid bytes at the start of `text` encode a surrogate (ED A0..BF xx).
bool is_surrogate(std::string_view text);

}  // namespace narratoria::utf8
