// SPDX-License-Identifier: Apache-2.0
#include "base/hash.hpp"

#include <sys/random.h>

#include <ctime>

namespace narratoria {

uint64_t hash_seed() {
    static const uint64_t seed = [] {
        uint64_t value = 0;
        if (getrandom(&value, sizeof value, GRND_NONBLOCK) != sizeof value) {
            timespec now{};
            clock_gettime(CLOCK_MONOTONIC, &now);
            value = static_cast<uint64_t>(now.tv_nsec) * 0x9e3779b97f4a7c15ull ^
                    reinterpret_cast<uintptr_t>(&value);
        }
        return value;
    }();
    return seed;
}

}  // namespace narratoria
