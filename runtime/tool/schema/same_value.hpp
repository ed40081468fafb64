// SPDX-License-Identifier: Apache-2.0
#pragma once
// Equality of JSON values as JSON Schema defines it: numbers by value, objects in any order.

#include <cstdint>

#include "base/json/tape.hpp"

namespace narratoria::tool {

// Recursion is limited by the depth that the reader accepts. Subtracts the values that it looks at
// from `steps`; returns false with 0 steps if they do not suffice.
bool same_value(json::Value one, json::Value other, uint64_t& steps);

// Equal values have equal hashes.
uint64_t hash_value(json::Value value, uint64_t& steps);

}  // namespace narratoria::tool
