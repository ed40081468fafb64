// SPDX-License-Identifier: Apache-2.0
#pragma once
// Builds, checks and follows JSON Pointers (RFC 6901).

#include <cstddef>
#include <string>
#include <string_view>

#include "base/json/tape.hpp"

namespace narratoria::json {

// Appends a slash and the segment; escapes ~ and / in it.
void append_pointer(std::string& pointer, std::string_view segment);
void append_pointer(std::string& pointer, size_t index);

bool is_pointer(std::string_view text);

// The value at a valid pointer below `value`, or an empty Value.
Value find_pointer(Value value, std::string_view pointer);

// Returns the JSON objects around `json` that put it at a valid pointer: "/a/b" and 1 give
// {"a":{"b":1}}.
std::string nested(std::string_view pointer, std::string_view json);

// Decodes the first segment of a valid pointer, which must not be empty, and moves `pointer` past
// it.
void take_segment(std::string_view& pointer, std::string& segment);

// Returns the pointer from `root` to the value at `index` of its tape; for a key, that of the
// object. Searches from the root.
std::string pointer_to(Value root, uint32_t index);

}  // namespace narratoria::json
