// SPDX-License-Identifier: Apache-2.0
#include "web/range.hpp"

#include <gtest/gtest.h>

namespace narratoria::web {
namespace {

void expect_part(const Range& range, std::uint64_t first, std::uint64_t count) {
    EXPECT_EQ(range.kind, Range::Kind::Part);
    EXPECT_EQ(range.first, first);
    EXPECT_EQ(range.count, count);
}

TEST(RangeTest, RangeIsClampedToTheFile) {
    expect_part(read_range("bytes=0-0", 10), 0, 1);
    expect_part(read_range("bytes=2-5", 10), 2, 4);
    expect_part(read_range("bytes=2-", 10), 2, 8);
    expect_part(read_range("bytes=2-99", 10), 2, 8);
    expect_part(read_range("bytes=-3", 10), 7, 3);
    expect_part(read_range("bytes=-99", 10), 0, 10);
    expect_part(read_range("bytes=9-18446744073709551615", 10), 9, 1);
    expect_part(read_range("bytes=9-99999999999999999999999", 10), 9, 1);
}

TEST(RangeTest, RangePastTheEndIsUnsatisfiable) {
    for (const auto* text :
         {"bytes=10-", "bytes=10-20", "bytes=-0", "bytes=99999999999999999999-"}) {
        EXPECT_EQ(read_range(text, 10).kind, Range::Kind::Unsatisfiable) << text;
    }
    EXPECT_EQ(read_range("bytes=0-", 0).kind, Range::Kind::Unsatisfiable);
    EXPECT_EQ(read_range("bytes=-1", 0).kind, Range::Kind::Unsatisfiable);
}

TEST(RangeTest, AnythingButASingleRangeIsTheWholeFile) {
    for (const auto* text : {"", "bytes", "bytes=", "bytes=-", "bytes=1", "bytes=a-", "bytes=-b",
                             "bytes=1-2,3-4", "bytes=5-2", "bytes= 1-2", "bytes=1-2 ", "bytes=--1",
                             "bytes=+1-2", "items=1-2", "BYTES 1-2"}) {
        const Range range = read_range(text, 10);
        EXPECT_EQ(range.kind, Range::Kind::Whole) << text;
        EXPECT_EQ(range.count, 10u) << text;
    }
}

}  // namespace
}  // namespace narratoria::web
