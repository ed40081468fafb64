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

TEST(Clock, WritesWhatItReads) {
    EXPECT_TRUE(clock::is_iso8601(clock::to_iso8601(clock::wall_us())));
}

TEST(Clock, OnlyGoesForward) {
    const int64_t before = clock::steady_ms();
    EXPECT_GE(clock::steady_ms(), before);
}

// covers: 000-3-timestamp
TEST(Clock, TellsDateTimesOfIso8601) {
    const test::Json table = test::cases("timestamps");
    for (const std::string& text : table["valid"].strings()) {
        EXPECT_TRUE(clock::is_iso8601(text)) << text;
    }
    for (const std::string& text : table["invalid"].strings()) {
        EXPECT_FALSE(clock::is_iso8601(text)) << text;
    }
}

}  // namespace
