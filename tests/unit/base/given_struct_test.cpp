// SPDX-License-Identifier: Apache-2.0
#include "base/given_struct.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace narratoria {
namespace {

struct Options {
    uint32_t size;
    uint32_t first;
    uint32_t reserved;
    uint32_t added_later;
};

}  // namespace

template <>
inline constexpr size_t kFirstSize<Options> = offsetof(Options, added_later);

namespace {

TEST(GivenStruct, ShorterStructHasZerosInNewFields) {
    const Options given{offsetof(Options, added_later), 7, 0, 9};
    Options read{1, 1, 1, 1};
    ASSERT_EQ(read_struct(&given, read), "");
    EXPECT_EQ(read.first, 7u);
    EXPECT_EQ(read.added_later, 0u);
}

TEST(GivenStruct, LongerStructIsReadUpToKnownFields) {
    struct {
        Options known;
        uint64_t newer;
    } const given{{sizeof given, 7, 0, 9}, 11};
    struct {
        Options read;
        uint64_t beside = 5;
    } out;
    ASSERT_EQ(read_struct(&given.known, out.read), "");
    EXPECT_EQ(out.read.added_later, 9u);
    EXPECT_EQ(out.beside, 5u);
}

TEST(GivenStruct, StructSmallerThanInTheFirstVersionIsRefused) {
    const Options given{offsetof(Options, added_later) - 1, 7, 0, 9};
    Options read{};
    EXPECT_EQ(read_struct(&given, read),
              "has the size 11; it must be at least 12, so set it to sizeof the struct");
}

TEST(GivenStruct, ReservedFieldMustBeZero) {
    const Options given{sizeof given, 7, 77, 9};
    Options read{};
    EXPECT_EQ(read_struct(&given, read), "has a value in a reserved field; set it to 0");
}

TEST(GivenStruct, NullIsAllZeros) {
    Options read{1, 1, 1, 1};
    ASSERT_EQ(read_struct<Options>(nullptr, read), "");
    EXPECT_EQ(read.first, 0u);
}

}  // namespace
}  // namespace narratoria
