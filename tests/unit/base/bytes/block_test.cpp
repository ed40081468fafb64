// SPDX-License-Identifier: Apache-2.0
#include "base/bytes/block.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace narratoria {
namespace {

constexpr std::size_t kMiB = 1024 * 1024;

TEST(Block, IsZeroedWhateverItsSize) {
    for (const std::size_t bytes : {std::size_t{1}, kMiB, 2 * kMiB, 3 * kMiB + 1, 9 * kMiB}) {
        auto* const block = static_cast<char*>(new_block(bytes));
        EXPECT_TRUE(std::all_of(block, block + bytes, [](char byte) { return byte == 0; }))
            << bytes;
        std::fill(block, block + bytes, 'x');
        free_block(block, bytes);
    }
    free_block(nullptr, 9 * kMiB);
}

// The sizes cross the thresholds from malloc to a mapping of its own and to huge pages.
TEST(Block, KeepsItsContentWhileItGrows) {
    std::uint32_t* block = nullptr;
    std::size_t count = 0;
    for (const std::size_t bytes : {std::size_t{4096}, kMiB, 2 * kMiB - 4, 2 * kMiB, 3 * kMiB,
                                    5 * kMiB, 8 * kMiB, 8 * kMiB + 4, 21 * kMiB}) {
        block =
            static_cast<std::uint32_t*>(grow_block(block, count * sizeof(std::uint32_t), bytes));
        std::size_t changed = 0;
        for (std::uint32_t i = 0; i < count; ++i) changed += block[i] != i * 2654435761u;
        EXPECT_EQ(changed, 0u) << "grown to " << bytes;
        count = bytes / sizeof(std::uint32_t);
        for (std::uint32_t i = 0; i < count; ++i) block[i] = i * 2654435761u;
    }
    free_block(block, count * sizeof(std::uint32_t));
}

}  // namespace
}  // namespace narratoria
