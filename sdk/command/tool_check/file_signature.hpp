// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether a file's first bytes are what its media type says.

#include <cstddef>
#include <string>
#include <string_view>

namespace narratoria::command::tool_check {

// How many bytes of a file contradiction() wants to see.
inline constexpr std::size_t kSignatureBytes = 64;

// Empty when the content may be what the media type says; otherwise a sentence. Types without a
// known signature are believed.
std::string contradiction(std::string_view media_type, std::string_view first_bytes);

}  // namespace narratoria::command::tool_check
