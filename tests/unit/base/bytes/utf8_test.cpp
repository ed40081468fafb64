// SPDX-License-Identifier: Apache-2.0
#include "base/bytes/utf8.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "conformance/cases.hpp"

namespace {

using namespace narratoria;

std::string encoded(uint32_t code) {
    auto tail = [&](unsigned shift) { return static_cast<char>(0x80 | ((code >> shift) & 0x3F)); };
    if (code < 0x80) return {static_cast<char>(code)};
    if (code < 0x800) return {static_cast<char>(0xC0 | (code >> 6)), tail(0)};
    if (code < 0x10000) return {static_cast<char>(0xE0 | (code >> 12)), tail(6), tail(0)};
    return {static_cast<char>(0xF0 | (code >> 18)), tail(12), tail(6), tail(0)};
}

TEST(Utf8, MatchesTheStressTest) {
    for (const test::ByteCase& each : test::utf8_cases()) {
        EXPECT_EQ(utf8::valid_prefix(each.text), each.valid) << each.what;
        EXPECT_EQ(utf8::is_valid(each.text), each.valid == each.text.size()) << each.what;
        // The result is the same at every offset within plain text.
        for (size_t shift = 1; shift < 20; ++shift) {
            const std::string before(shift, 'x');
            EXPECT_EQ(utf8::valid_prefix(before + each.text), shift + each.valid) << each.what;
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
    EXPECT_FALSE(utf8::is_surrogate("\xED\xC0\x80"))
        << "the second byte is not a continuation byte";
}

TEST(Utf8, EveryCharacterIsDecoded) {
    for (uint32_t code = 0; code < 0x110000; ++code) {
        if (code >= 0xD800 && code < 0xE000) continue;
        const std::string text = encoded(code) + "x";
        size_t at = 0;
        if (utf8::decode(text, at) != code || at + 1 != text.size()) FAIL() << std::hex << code;
    }
}

TEST(Utf8, TextWithoutAVisibleCharacterIsBlank) {
    for (const char* text :
         {"", " \t\r\n", "\u00a0\u2003\u3000", "\u200b", "\u200f\u202e\u2066\ufeff", "\u00ad\u2060",
          "\u3164", "\u2800", "\x01\x7f"}) {
        EXPECT_TRUE(utf8::is_blank(text)) << text;
    }
    for (const char* text :
         {"a", "\u200ba", "a\u200b", "\u2192", "\u0301", "\U0001F511", "\ufffd"}) {
        EXPECT_FALSE(utf8::is_blank(text)) << text;
    }
}

TEST(Utf8, EveryInvalidByteIsReplacedByOneCharacter) {
    EXPECT_EQ(utf8::repaired("κόσμε"), "κόσμε");
    EXPECT_EQ(utf8::repaired(""), "");
    EXPECT_EQ(utf8::repaired("a\xFFz"), "a\xEF\xBF\xBDz");
    EXPECT_EQ(utf8::repaired("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD");
    EXPECT_EQ(utf8::repaired("a\xE2\x82"), "a\xEF\xBF\xBD\xEF\xBF\xBD");
    for (const test::ByteCase& each : test::utf8_cases()) {
        EXPECT_TRUE(utf8::is_valid(utf8::repaired(each.text))) << each.what;
    }
}

}  // namespace
