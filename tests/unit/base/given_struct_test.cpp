// SPDX-License-Identifier: Apache-2.0
#include "base/given_struct.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace narratoria {
namespace {

struct Options {
    uint32_t size;
    uint32_t first;
    uint64_t added_later;
};

TEST(GivenStruct, ShorterStructHasZerosInNewFields) {
    const Options given{offsetof(Options, added_later), 7, 9};
    Options read{1, 1, 1};
    ASSERT_TRUE(read_struct(&given, read));
    EXPECT_EQ(read.first, 7u);
    EXPECT_EQ(read.added_later, 0u);
}

TEST(GivenStruct, LongerStructIsReadUpToKnownFields) {
    struct {
        Options known;
        uint64_t newer;
    } const given{{sizeof given, 7, 9}, 11};
    struct {
        Options read;
        uint64_t beside = 5;
    } out;
    ASSERT_TRUE(read_struct(&given.known, out.read));
    EXPECT_EQ(out.read.added_later, 9u);
    EXPECT_EQ(out.beside, 5u);
}

TEST(GivenStruct, ZeroSizeIsRefusedAndNullIsAllZeros) {
    const Options empty{};
    Options read{1, 1, 1};
    EXPECT_FALSE(read_struct(&empty, read));
    ASSERT_TRUE(read_struct<Options>(nullptr, read));
    EXPECT_EQ(read.first, 0u);
}

}  // namespace
}  // namespace narratoria
