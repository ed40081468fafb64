// SPDX-License-Identifier: Apache-2.0
#include "journal/compression.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "base/hash.hpp"

namespace narratoria::journal {
namespace {

const std::string kShortTurn =
    "\x01\x09{\"attempt\":1}\x01\x06{\"version\":\"0\",\"type\":\"done\",\"ok\":true}"
    "\x01\x0A{\"attempt\":1,\"state\":\"completed\",\"exitStatus\":0}";

TEST(Compression, PartsAreReadAsTheyWereWritten) {
    std::mt19937 random(7);
    for (int i = 0; i < 2000; ++i) {
        const auto variety = 1 + random() % 255;
        std::string part(random() % (i % 20 == 0 ? 300'000 : 400), '\x01');
        for (size_t at = 1; at < part.size(); ++at) {
            part[at] = static_cast<char>(random() % variety);
        }
        EXPECT_EQ(expand_part(compress_part(part)), part);
    }
}

TEST(Compression, PartsOfShortTurnsBecomeSmaller) {
    EXPECT_LT(2 * compress_part(kShortTurn).size(), kShortTurn.size());
}

TEST(Compression, PartsThatWouldBecomeLargerAreKept) {
    for (const std::string part : {"", "\x01", "\x01\x02\x03\x04\x05\x06\x07"}) {
        EXPECT_EQ(compress_part(part), part);
    }
}

// If this or the next one fails, existing stores cannot be read.
TEST(Compression, FormNeverChanges) {
    const std::string stored(
        "\x00\x6A\x00\x00\x00\x29\x01\x09\x29\x03\x2F\x01\x06\x28\x04\x04"
        "\x0B\xA3\x03\x38\x7D\x01\x0A\x38\x00\x12\x2C\xFE\x03\x0B\x30\x03"
        "\x05\xE7\x05\x50\x73\x22\x3A\x30\x7D",
        41);
    EXPECT_EQ(expand_part(stored), kShortTurn);
}

TEST(Compression, DictionaryNeverChanges) {
    // A block that copies the whole dictionary and ends with the letters that LZ4 requires.
    constexpr size_t kSize = 1569;
    std::string stored("\0____\x0F__", 8);
    for (const size_t at : {size_t{1}, size_t{6}}) {
        const size_t number = at == 1 ? kSize + 5 : kSize;
        stored[at] = static_cast<char>(number & 0xFF);
        stored[at + 1] = static_cast<char>(number >> 8);
    }
    stored[3] = stored[4] = 0;
    stored.append((kSize - 19) / 255, '\xFF');
    stored += static_cast<char>((kSize - 19) % 255);
    stored += "\x50_end_";
    const std::string part = expand_part(stored).value_or("");
    EXPECT_EQ(part.substr(std::min(kSize, part.size())), "_end_");
    EXPECT_EQ(hash_text(part, 0), 0xF051EFAA7205DF97u);
}

TEST(Compression, DamagedPartsAreRefusedOrStaySmall) {
    const std::string stored = compress_part(kShortTurn + std::string(10'000, 'x'));
    for (size_t at = 1; at < stored.size(); ++at) {
        EXPECT_FALSE(expand_part(stored.substr(0, at)));
        for (int bit = 0; bit < 8; ++bit) {
            std::string damaged = stored;
            damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
            EXPECT_LE(expand_part(damaged).value_or("").size(), 255 * stored.size());
        }
    }
    EXPECT_FALSE(expand_part(std::string("\0\xFF\xFF\xFF\x7D\x10", 6))) << "2 GB in one byte";
}

}  // namespace
}  // namespace narratoria::journal
