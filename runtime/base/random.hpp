// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random numbers that a seed determines.

#include <cstdint>

namespace narratoria {

// SplitMix64 (Steele, Lea and Flood 2014): equal seeds give equal numbers.
class Random {
public:
    explicit Random(uint64_t seed) : state_(seed) {}

    // From 0 to 2^53 - 1, so that every reader of JSON has it exactly.
    uint64_t next() {
        uint64_t mixed = state_ += 0x9e3779b97f4a7c15;
        mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
        mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
        return (mixed ^ (mixed >> 31)) >> 11;
    }
    // From 0 to `count` - 1.
    uint64_t below(uint64_t count) { return next() % count; }

private:
    uint64_t state_;
};

}  // namespace narratoria
