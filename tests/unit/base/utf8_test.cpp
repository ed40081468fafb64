// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace {

using namespace narratoria;
using namespace std::string_view_literals;

std::string encoded(uint32_t code) {
    auto tail = [&](unsigned shift) { return static_cast<char>(0x80 | ((code >> shift) & 0x3F)); };
    if (code < 0x80) return {static_cast<char>(code)};
    if (code < 0x800) return {static_cast<char>(0xC0 | (code >> 6)), tail(0)};
    if (code < 0x10000) return {static_cast<char>(0xE0 | (code >> 12)), tail(6), tail(0)};
    return {static_cast<char>(0xF0 | (code >> 18)), tail(12), tail(6), tail(0)};
}

// After Markus Kuhn's "UTF-8 decoder capability and stress test", by his section numbers.
struct Case {
    std::string_view what;
    std::string_view text;
    size_t valid;  // bytes at the front
};

const Case kCases[] = {
    {"1 some correct text", "κόσμε", 10},
    {"2.1.1 first of 1 byte", "\0"sv, 1},
    {"2.1.2 first of 2 bytes", "\xC2\x80", 2},
    {"2.1.3 first of 3 bytes", "\xE0\xA0\x80", 3},
    {"2.1.4 first of 4 bytes", "\xF0\x90\x80\x80", 4},
    {"2.1.5 first of 5 bytes", "\xF8\x88\x80\x80\x80", 0},
    {"2.1.6 first of 6 bytes", "\xFC\x84\x80\x80\x80\x80", 0},
    {"2.2.1 last of 1 byte", "\x7F", 1},
    {"2.2.2 last of 2 bytes", "\xDF\xBF", 2},
    {"2.2.3 last of 3 bytes", "\xEF\xBF\xBF", 3},
    {"2.2.4 last of 4 bytes", "\xF7\xBF\xBF\xBF", 0},
    {"2.3.1 U+D7FF", "\xED\x9F\xBF", 3},
    {"2.3.2 U+E000", "\xEE\x80\x80", 3},
    {"2.3.3 U+FFFD", "\xEF\xBF\xBD", 3},
    {"2.3.4 U+10FFFF", "\xF4\x8F\xBF\xBF", 4},
    {"2.3.5 U+110000", "\xF4\x90\x80\x80", 0},
    {"3.1.1 a continuation byte", "\x80", 0},
    {"3.1.2 the last continuation byte", "\xBF", 0},
    {"3.1.3 two of them", "\x80\xBF", 0},
    {"3.1 behind correct text", "ab\x80", 2},
    {"3.2.1 lonely start of 2", "\xC2 ", 0},
    {"3.2.2 lonely start of 3", "\xE1 ", 0},
    {"3.2.3 lonely start of 4", "\xF1 ", 0},
    {"3.3.1 2 bytes, last missing", "\xC2", 0},
    {"3.3.2 3 bytes, last missing", "\xE1\x80", 0},
    {"3.3.2 3 bytes, two missing", "\xE1", 0},
    {"3.3.3 4 bytes, last missing", "\xF1\x80\x80", 0},
    {"3.3.3 4 bytes, interrupted", "\xF1\x80 \x80", 0},
    {"3.4 concatenated incomplete sequences", "\xC0\xE0\x80\xF0\x80\x80", 0},
    {"3.5.1 0xFE", "\xFE", 0},
    {"3.5.2 0xFF", "\xFF", 0},
    {"4.1.1 overlong slash, 2 bytes", "\xC0\xAF", 0},
    {"4.1.2 overlong slash, 3 bytes", "\xE0\x80\xAF", 0},
    {"4.1.3 overlong slash, 4 bytes", "\xF0\x80\x80\xAF", 0},
    {"4.2.1 highest overlong, 2 bytes", "\xC1\xBF", 0},
    {"4.2.2 highest overlong, 3 bytes", "\xE0\x9F\xBF", 0},
    {"4.2.3 highest overlong, 4 bytes", "\xF0\x8F\xBF\xBF", 0},
    {"4.3.1 overlong NUL", "\xC0\x80", 0},
    {"5.1.1 U+D800", "\xED\xA0\x80", 0},
    {"5.1.5 U+DC00", "\xED\xB0\x80", 0},
    {"5.1.7 U+DFFF", "\xED\xBF\xBF", 0},
    {"5.2.1 a pair of surrogates", "\xED\xA0\x80\xED\xB0\x80", 0},
    {"5.3.1 U+FFFE is a character", "\xEF\xBF\xBE", 3},
    {"a fault behind eight plain bytes", "12345678\xFF", 8},
    {"a fault across the eighth byte", "1234567\xE2\x82", 7},
    {"nothing", "", 0},
};

TEST(Utf8, IsJudgedAsTheStressTestDemands) {
    for (const Case& each : kCases) {
        EXPECT_EQ(utf8::valid_prefix(each.text), each.valid) << each.what;
        EXPECT_EQ(utf8::is_valid(each.text), each.valid == each.text.size()) << each.what;
        // The same wherever it stands among plain text.
        for (size_t shift = 1; shift < 20; ++shift) {
            const std::string before(shift, 'x');
            EXPECT_EQ(utf8::valid_prefix(before + std::string(each.text)), shift + each.valid)
                << each.what;
        }
    }
}

TEST(Utf8, EveryCharacterIsValidAndEverySurrogateIsNot) {
    for (uint32_t code = 0; code < 0x110000; ++code) {
        const bool is_surrogate = code >= 0xD800 && code < 0xE000;
        const std::string text = encoded(code);
        if (utf8::is_valid(text) == is_surrogate) FAIL() << std::hex << code;
        if (utf8::is_surrogate(text) != is_surrogate) FAIL() << std::hex << code;
    }
    EXPECT_FALSE(utf8::is_surrogate("\xED"));
    EXPECT_FALSE(utf8::is_surrogate("\xED\xC0\x80")) << "the second byte continues nothing";
}

TEST(Utf8, EveryInvalidByteIsRepairedByOneReplacementCharacter) {
    EXPECT_EQ(utf8::repaired("κόσμε"), "κόσμε");
    EXPECT_EQ(utf8::repaired(""), "");
    EXPECT_EQ(utf8::repaired("a\xFFz"), "a\xEF\xBF\xBDz");
    EXPECT_EQ(utf8::repaired("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD");
    EXPECT_EQ(utf8::repaired("a\xE2\x82"), "a\xEF\xBF\xBD\xEF\xBF\xBD");
    for (const Case& each : kCases) {
        EXPECT_TRUE(utf8::is_valid(utf8::repaired(each.text))) << each.what;
    }
}

}  // namespace
