// SPDX-License-Identifier: Apache-2.0
#include "base/clock.hpp"

#include <gtest/gtest.h>

#include "conformance/cases.hpp"

namespace {

using namespace narratoria;

TEST(Clock, WritesMicrosecondsInUtc) {
    EXPECT_EQ(clock::to_iso8601(0), "1970-01-01T00:00:00.000000Z");
    EXPECT_EQ(clock::to_iso8601(1769279400250001), "2026-01-24T18:30:00.250001Z");
    EXPECT_EQ(clock::to_iso8601(951782400000000), "2000-02-29T00:00:00.000000Z");
    EXPECT_EQ(clock::to_iso8601(-1), "1969-12-31T23:59:59.999999Z") << "a clock before the epoch";
    EXPECT_EQ(clock::to_iso8601(-1000000), "1969-12-31T23:59:59.000000Z");
}

TEST(Clock, RoundTrips) { EXPECT_TRUE(clock::is_iso8601(clock::to_iso8601(clock::wall_us()))); }

TEST(Clock, IsMonotonic) {
    const int64_t before = clock::steady_ms();
    EXPECT_GE(clock::steady_ms(), before);
}

// covers: 000-3-timestamp
TEST(Clock, RecognizesIso8601DateTimes) {
    const test::Json table = test::cases("timestamps");
    for (const std::string& text : table["valid"].strings()) {
        EXPECT_TRUE(clock::is_iso8601(text)) << text;
    }
    for (const std::string& text : table["invalid"].strings()) {
        EXPECT_FALSE(clock::is_iso8601(text)) << text;
    }
}

// The common form has a fast path. Replaces each of its characters by each byte: the fast path must
// accept the same values as the detailed parser.
TEST(Clock, FastPathAcceptsTheSameCharactersAsTheParser) {
    const std::string common = "2026-01-24T18:30:05.25Z";
    // A numeric offset bypasses the fast path, so that the detailed parser decides.
    const std::string detailed = "2026-01-24T18:30:05.25+00:00";
    for (size_t place = 0; place + 1 < common.size(); ++place) {
        for (int byte = 0; byte < 256; ++byte) {
            std::string one = common, other = detailed;
            one[place] = other[place] = static_cast<char>(byte);
            EXPECT_EQ(clock::is_iso8601(one), clock::is_iso8601(other))
                << one << " at " << place << ", byte " << byte;
        }
    }
    for (int number = 0; number < 100; ++number) {
        const std::string two = {static_cast<char>('0' + number / 10),
                                 static_cast<char>('0' + number % 10)};
        for (const size_t place : {5u, 8u, 11u, 14u, 17u}) {
            std::string one = common, other = detailed;
            one.replace(place, 2, two);
            other.replace(place, 2, two);
            EXPECT_EQ(clock::is_iso8601(one), clock::is_iso8601(other)) << one;
        }
    }
}

}  // namespace
