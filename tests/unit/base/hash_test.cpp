// SPDX-License-Identifier: Apache-2.0
#include "base/hash.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>

namespace narratoria {
namespace {

TEST(Hash, DependsOnlyOnTextAndSeed) {
    const std::string one = "the same text in two places";
    const std::string two = one;
    EXPECT_EQ(hash_text(one, 1), hash_text(two, 1));
    EXPECT_NE(hash_text(one, 1), hash_text(one, 2));
    EXPECT_EQ(hash_seed(), hash_seed());
}

// Lengths 0 to 70 cover every code path: single bytes, two overlapping loads, and blocks of 16.
TEST(Hash, DependsOnEveryByteAtEveryLength) {
    for (std::size_t length = 0; length <= 70; ++length) {
        const std::string text(length, 'x');
        std::set<std::uint64_t> hashes{hash_text(text, 7)};
        for (std::size_t at = 0; at < length; ++at) {
            std::string changed = text;
            changed[at] = 'y';
            hashes.insert(hash_text(changed, 7));
        }
        EXPECT_EQ(hashes.size(), length + 1) << length;
        EXPECT_NE(hash_text(text, 7), hash_text(text + 'x', 7)) << length;
    }
}

TEST(Hash, ReadsOnlyTheText) {
    const std::string text = "before-middle-after";
    EXPECT_EQ(hash_text(std::string_view(text).substr(7, 6), 3), hash_text("middle", 3));
}

// Hash tables use the lowest bits, so these must differ for similar keys.
TEST(Hash, SpreadsSimilarKeysOverTheLowBits) {
    constexpr std::size_t kSlots = 1024;
    std::set<std::uint64_t> slots;
    for (std::size_t i = 0; i < kSlots; ++i) {
        slots.insert(hash_text("key" + std::to_string(i), 11) % kSlots);
    }
    // Random keys would fill 63% of the slots.
    EXPECT_GT(slots.size(), kSlots * 55 / 100);
}

}  // namespace
}  // namespace narratoria
