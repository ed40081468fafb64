// SPDX-License-Identifier: Apache-2.0
#include "base/json/string_scan.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "base/json/tape.hpp"

namespace narratoria::json {
namespace {

struct Scan {
    std::size_t length;
    bool high;
};

Scan scan(std::string text) {
    text.append(kPadding, '\0');
    bool high = false;
    const char* const end = skip_plain(text.data(), high);
    return {static_cast<std::size_t>(end - text.data()), high};
}

// Up to three blocks of 16 bytes, so that the terminating byte takes each position of a block.
TEST(StringScan, StopsAtEachSpecialByte) {
    for (std::size_t length = 0; length < 48; ++length) {
        for (const char stop : {'"', '\\', '\0', '\n', '\x1F'}) {
            const Scan found = scan(std::string(length, 'x') + stop + "\"");
            EXPECT_EQ(found.length, length) << static_cast<int>(stop);
            EXPECT_FALSE(found.high);
        }
    }
}

TEST(StringScan, PassesEveryOtherByte) {
    std::string all;
    for (int byte = 0x20; byte < 0x100; ++byte) {
        if (byte != '"' && byte != '\\') all += static_cast<char>(byte);
    }
    const Scan found = scan(all + '"');
    EXPECT_EQ(found.length, all.size());
    EXPECT_TRUE(found.high);
}

TEST(StringScan, ReportsBytesOver0x7FOnlyBeforeTheStop) {
    for (std::size_t place = 0; place < 40; ++place) {
        std::string text(40, 'x');
        text[place] = '\x80';
        EXPECT_TRUE(scan(text + '"').high) << place;
        EXPECT_FALSE(scan(std::string(place, 'x') + "\"\x80\"").high) << place;
    }
}

}  // namespace
}  // namespace narratoria::json
