// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <cstring>
#include <string_view>

namespace narratoria {

// A random seed per process, so that an attacker cannot prepare colliding keys. Thread-safe.
uint64_t hash_seed();

// wyhash's mixing function. Short texts take two overlapping loads and one multiplication.
inline uint64_t hash_text(std::string_view text, uint64_t seed) {
    constexpr uint64_t kSecret0 = 0xa0761d6478bd642full;
    constexpr uint64_t kSecret1 = 0xe7037ed1a0b428dbull;
    auto mix = [](uint64_t x, uint64_t y) {
        __extension__ using Wide = unsigned __int128;
        const Wide product = Wide{x} * y;
        return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
    };
    auto load8 = [](const char* at) {
        uint64_t value;
        std::memcpy(&value, at, 8);
        return value;
    };
    auto load4 = [](const char* at) {
        uint32_t value;
        std::memcpy(&value, at, 4);
        return uint64_t{value};
    };
    const char* at = text.data();
    const size_t size = text.size();
    size_t left = size;
    uint64_t a = 0, b = 0;
    if (size <= 16) {
        if (size >= 8) {
            a = load8(at);
            b = load8(at + size - 8);
        } else if (size >= 4) {
            a = load4(at);
            b = load4(at + size - 4);
        } else if (size > 0) {
            a = (uint64_t{static_cast<unsigned char>(at[0])} << 16) |
                (uint64_t{static_cast<unsigned char>(at[size >> 1])} << 8) |
                static_cast<unsigned char>(at[size - 1]);
        }
    } else {
        for (; left > 16; left -= 16, at += 16) {
            seed = mix(load8(at) ^ kSecret1, load8(at + 8) ^ seed);
        }
        a = load8(at + left - 16);
        b = load8(at + left - 8);
    }
    return mix(kSecret1 ^ size, mix(a ^ kSecret1, b ^ seed ^ kSecret0));
}

}  // namespace narratoria
