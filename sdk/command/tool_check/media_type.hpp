// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether a media type is written as one, and whether a file's first bytes are what it says.

#include <string>
#include <string_view>

namespace narratoria::command {

// type/subtype, with parameters if it likes (RFC 6838 §4.2, RFC 2045 §5.1).
bool is_media_type(std::string_view text);

// How many bytes of a file contradiction() wants to see.
inline constexpr std::size_t kSignatureBytes = 64;

// Empty when the content may be what the media type says; otherwise a sentence. Types without a
// known signature are believed.
std::string contradiction(std::string_view media_type, std::string_view first_bytes);

}  // namespace narratoria::command
