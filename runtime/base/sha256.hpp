// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

namespace narratoria {

// The SHA-256 of a text (FIPS 180-4), in lowercase hexadecimal.
std::string sha256(std::string_view text);

}  // namespace narratoria
