// SPDX-License-Identifier: Apache-2.0
#pragma once
// Equality of JSON values as JSON Schema defines it: numbers by value, objects in any order.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/json/tape.hpp"

namespace narratoria::tool {

// The recursion depth is limited by the JSON reader. Subtracts the number of compared values from
// `steps`; if they do not suffice, sets `steps` to 0 and returns false.
bool same_value(json::Value one, json::Value other, uint64_t& steps);

// Equal values have equal hashes. `steps` as above.
uint64_t hash_value(json::Value value, uint64_t& steps);

// The positions of two equal elements of an array with `count` elements, or nothing. `steps` as
// above.
std::optional<std::pair<size_t, size_t>> find_repeated(json::Value array, uint64_t count,
                                                       uint64_t& steps);

}  // namespace narratoria::tool
