// SPDX-License-Identifier: Apache-2.0
#include "tool/schema/decimal.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace narratoria::tool {
namespace {

int compared(const char* one, const char* other) {
    const int forth = Decimal(one).compare(Decimal(other));
    const int back = Decimal(other).compare(Decimal(one));
    EXPECT_EQ(forth, -back) << one << ' ' << other;
    return forth;
}

TEST(Decimal, IsComparedByValue) {
    // In ascending order. Numbers on one line are equal.
    const std::vector<std::vector<const char*>> order = {
        {"-1e400", "-10e399"},
        {"-9007199254740993"},
        {"-9007199254740992"},
        {"-2.5", "-25e-1"},
        {"-1e-300"},
        {"0", "-0", "0.000", "0e9"},
        {"1e-300"},
        {"0.1", "1e-1", "0.1000"},
        {"0.10000000000000001"},
        {"1", "1.0", "1e0", "100e-2"},
        {"9.99"},
        {"10", "1e1"},
        {"9007199254740992"},
        {"9007199254740993"},
        {"1e19", "10000000000000000000"},
        {"123456789012345678901234567890"},
        {"1e400"},
    };
    for (size_t i = 0; i < order.size(); ++i) {
        for (size_t j = 0; j < order.size(); ++j) {
            for (const char* one : order[i]) {
                for (const char* other : order[j]) {
                    const int expected = i < j ? -1 : i > j ? 1 : 0;
                    EXPECT_EQ(compared(one, other), expected) << one << ' ' << other;
                    if (i == j) {
                        EXPECT_EQ(Decimal(one).hash(7), Decimal(other).hash(7)) << one;
                    }
                }
            }
        }
    }
}

TEST(Decimal, DetectsIntegers) {
    for (const char* text :
         {"0", "-0.0", "2.0", "2e3", "1.50e1", "1e300", "12345678901234567890123.0", "100e-2"}) {
        EXPECT_TRUE(Decimal(text).is_integer()) << text;
        EXPECT_TRUE(is_integer_text(text)) << text;
    }
    for (const char* text : {"2.5", "1e-1", "12345678901234567890123.5", "1.5e0", "101e-2"}) {
        EXPECT_FALSE(Decimal(text).is_integer()) << text;
        EXPECT_FALSE(is_integer_text(text)) << text;
    }
    EXPECT_EQ(Decimal("-12e2").integer(), -1200);
    EXPECT_EQ(Decimal("1.5").integer(), std::nullopt);
    EXPECT_EQ(Decimal("1e18").integer(), std::nullopt);
}

TEST(Decimal, DetectsMultiples) {
    const auto is_multiple = [](const char* value, const char* step) {
        return Decimal(value).is_multiple_of(Decimal(step));
    };
    EXPECT_TRUE(is_multiple("0.0075", "0.0001"));
    EXPECT_FALSE(is_multiple("0.00751", "0.0001"));
    EXPECT_TRUE(is_multiple("4.5", "1.5"));
    EXPECT_FALSE(is_multiple("35", "1.5"));
    EXPECT_TRUE(is_multiple("1e308", "0.5"));
    EXPECT_FALSE(is_multiple("1e300", "7e-5"));
    EXPECT_TRUE(is_multiple("0", "3"));
    EXPECT_FALSE(is_multiple("1e-400", "1"));
    EXPECT_TRUE(is_multiple("-9", "3"));
    EXPECT_TRUE(is_multiple("10", "1e1"));
    EXPECT_FALSE(is_multiple("5", "1e30"));
}

}  // namespace
}  // namespace narratoria::tool
