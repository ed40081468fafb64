// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compares a file's first bytes with its media type.

#include <cstddef>
#include <string>
#include <string_view>

namespace narratoria::command::tool_check {

// The number of bytes that contradiction() needs.
inline constexpr std::size_t kSignatureBytes = 64;

// Empty if the content can have the media type, otherwise a sentence. A type without a known
// signature is accepted.
std::string contradiction(std::string_view media_type, std::string_view first_bytes);

}  // namespace narratoria::command::tool_check
