// SPDX-License-Identifier: Apache-2.0
#pragma once
// Building JSON Pointers (RFC 6901).

#include <cstddef>
#include <string>
#include <string_view>

namespace narratoria::json {

// Appends a slash and the segment, with ~ and / escaped.
void append_pointer(std::string& pointer, std::string_view segment);
void append_pointer(std::string& pointer, size_t index);

}  // namespace narratoria::json
