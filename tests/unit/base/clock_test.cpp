// SPDX-License-Identifier: Apache-2.0
#include "base/clock.hpp"

#include <gtest/gtest.h>

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
    for (const char* text :
         {"2026-01-24T18:30:00.250Z", "2026-01-24T18:30:00Z", "2026-01-24T18:30Z",
          "2026-01-24T18:30:00", "2026-01-24T18:30:00+01:00", "2026-01-24T18:30:00-0530",
          "2026-01-24T18:30:00+01", "2026-01-24T18:30:00,5Z", "2026-01-24t18:30:00z",
          "2026-01-24 18:30:00Z", "20260124T183000Z", "20260124T1830Z", "2024-02-29T00:00:00Z",
          "2000-02-29T00:00:00Z", "2026-12-31T23:59:60Z", "2026-01-24T24:00:00Z",
          "2026-01-24T24:00Z", "2026-01-24T18:30:00.123456789123Z"}) {
        EXPECT_TRUE(clock::is_iso8601(text)) << text;
    }
    for (const char* text : {"",
                             "now",
                             "2026",
                             "2026-01-24",
                             "18:30:00",
                             "2026-01-24T",
                             "2026-01-24T18",
                             "2026-13-01T00:00:00Z",
                             "2026-00-01T00:00:00Z",
                             "2026-01-32T00:00:00Z",
                             "2026-04-31T00:00:00Z",
                             "2025-02-29T00:00:00Z",
                             "1900-02-29T00:00:00Z",
                             "2026-01-24T25:00:00Z",
                             "2026-01-24T18:60:00Z",
                             "2026-01-24T18:30:61Z",
                             "2026-01-24T24:30:00Z",
                             "2026-01-24T24:00:01Z",
                             "2026-01-24T24:00:00.5Z",
                             "2026-01-24T18:30:00.Z",
                             "2026-01-24T18:30:00Zx",
                             "2026-01-24T18:30:00+24:00",
                             "2026-01-24T18:30:00+1",
                             "2026-01-24T18:30:00+01:",
                             "2026-01-24T18:30:00+01:60",
                             "2026-1-24T18:30:00Z",
                             "26-01-24T18:30:00Z",
                             "2026-01-24T183000Z",
                             " 2026-01-24T18:30Z",
                             "2026-01-24T18:30:00 Z",
                             "1769279400"}) {
        EXPECT_FALSE(clock::is_iso8601(text)) << text;
    }
}

}  // namespace
