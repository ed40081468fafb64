// SPDX-License-Identifier: Apache-2.0
#include "base/json/writer.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "base/json/tape.hpp"

namespace {

using namespace narratoria::json;
using namespace std::string_view_literals;

TEST(JsonWriting, EscapesOnlyWhereRequired) {
    struct Case {
        std::string_view text;
        std::string_view json;
    };
    const Case cases[] = {
        {"", R"("")"},
        {"plain é 🔥", R"("plain é 🔥")"},
        {"a\"b\\c/d", R"("a\"b\\c/d")"},
        {"\n\r\t\b\f", R"("\n\r\t\b\f")"},
        {"\0\x01\x1F\x7F"sv, R"("\u0000\u0001\u001f\u007f")"},
        {"a\xFF\xC3", "\"a\xEF\xBF\xBD\xEF\xBF\xBD\""},
        {"\xED\xA0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},
    };
    for (const Case& each : cases) {
        std::string out;
        append_string(out, each.text);
        EXPECT_EQ(out, each.json);
    }
}

TEST(JsonWriting, EveryTextRoundTrips) {
    std::string all;
    for (char32_t code = 0; code < 0x300; ++code) {
        if (code < 0x80) {
            all += static_cast<char>(code);
        } else {
            all += static_cast<char>(0xC0 | (code >> 6));
            all += static_cast<char>(0x80 | (code & 0x3F));
        }
    }
    std::string json;
    append_string(json, all);
    Document document;
    ParseError error;
    ASSERT_TRUE(document.parse(json, error)) << error.message;
    EXPECT_EQ(document.root().text(), all);
}

TEST(JsonWriting, WritesObjectsWithEveryKindOfMember) {
    std::string out = "x";
    ObjectWriter writer(out);
    writer.string("a\"", "b\n").number("n", INT64_MIN).boolean("t", true).boolean("f", false);
    writer.raw("r", "[1]").key("k");
    out += "null";
    writer.end();
    EXPECT_EQ(out,
              R"(x{"a\"":"b\n","n":-9223372036854775808,"t":true,"f":false,"r":[1],"k":null})");
    out.clear();
    ObjectWriter(out).end();
    EXPECT_EQ(out, "{}");
}

TEST(JsonWriting, CompactTextIsOneLineWithUnchangedStrings) {
    std::string out;
    append_compact(out, "{ \"a b\" :\n [ 1 ,\t\"\\\" x\\\\\" ] ,\r\n \"c\":{ } }");
    EXPECT_EQ(out, R"({"a b":[1,"\" x\\"],"c":{}})");
}

}  // namespace
