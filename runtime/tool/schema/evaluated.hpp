// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which members or elements of a value are evaluated.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace narratoria::tool {

// A set of small numbers. Allocates only for numbers from 128.
class Bits {
public:
    void set(size_t i) {
        if (i < 128) few_[i >> 6] |= uint64_t{1} << (i & 63);
        else {
            i -= 128;
            if (i >= many_.size()) many_.resize(i + 1);
            many_[i] = true;
        }
    }
    bool has(size_t i) const {
        if (i < 128) return (few_[i >> 6] >> (i & 63) & 1) != 0;
        return i - 128 < many_.size() && many_[i - 128];
    }
    void add(const Bits& other) {
        few_[0] |= other.few_[0];
        few_[1] |= other.few_[1];
        if (other.many_.size() > many_.size()) many_.resize(other.many_.size());
        for (size_t i = 0; i < other.many_.size(); ++i) {
            if (other.many_[i]) many_[i] = true;
        }
    }

private:
    std::array<uint64_t, 2> few_{};
    std::vector<bool> many_;
};

// The members or elements of a value that a keyword has evaluated, for "unevaluated…".
struct Evaluated {
    Bits bits;
    bool all = false;

    bool has(size_t i) const { return all || bits.has(i); }
    void set(size_t i) {
        if (!all) bits.set(i);
    }
    void add(const Evaluated& other) {
        all = all || other.all;
        if (!all) bits.add(other.bits);
    }
};

}  // namespace narratoria::tool
