// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace narratoria {

// The size of a struct in ABI 1.0. A struct that gets a field later specializes it.
template <typename Struct>
inline constexpr size_t kFirstSize = sizeof(Struct);

// Copies a struct of the C ABI that a caller passes; NULL reads as all zeros. Returns why the struct
// must be refused, to follow its name in a message, or nothing.
template <typename Struct>
std::string read_struct(const Struct* given, Struct& out) {
    std::memset(static_cast<void*>(&out), 0, sizeof out);
    if (given == nullptr) return {};
    uint32_t size = 0;
    std::memcpy(&size, given, sizeof size);
    if (size < kFirstSize<Struct>) {
        return "has the size " + std::to_string(size) + "; it must be at least " +
               std::to_string(kFirstSize<Struct>) + ", so set it to sizeof the struct";
    }
    std::memcpy(static_cast<void*>(&out), given, std::min<size_t>(size, sizeof out));
    bool is_reserved_set = false;
    if constexpr (requires { out.reserved; }) is_reserved_set |= out.reserved != 0;
    if constexpr (requires { out.reserved_2; }) is_reserved_set |= out.reserved_2 != 0;
    if constexpr (requires { out.reserved_3; }) is_reserved_set |= out.reserved_3 != 0;
    if (is_reserved_set) return "has a value in a reserved field; set it to 0";
    return {};
}

}  // namespace narratoria
