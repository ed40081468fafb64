// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace narratoria {

// Copies a versioned ABI struct: reads no byte beyond its size field and zeroes the missing fields.
// Returns false if the size is too small to be valid. NULL reads as all zeros.
template <typename Struct>
bool read_struct(const Struct* given, Struct& out) {
    std::memset(static_cast<void*>(&out), 0, sizeof out);
    if (given == nullptr) return true;
    uint32_t size = 0;
    std::memcpy(&size, given, sizeof size);
    if (size < sizeof size) return false;
    std::memcpy(static_cast<void*>(&out), given, std::min<size_t>(size, sizeof out));
    return true;
}

}  // namespace narratoria
