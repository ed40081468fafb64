// SPDX-License-Identifier: Apache-2.0
#include "base/json/tape.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "support/memory.hpp"

namespace {

using namespace narratoria::json;
using namespace std::string_literals;
using namespace std::string_view_literals;

// Each value has its type and exactly its own bytes.
TEST(JsonTape, HasTypeAndBytesOfEachValue) {
    struct Case {
        std::string_view text;
        Type type;
    };
    const Case cases[] = {
        {"null", Type::Null},
        {"true", Type::True},
        {"false", Type::False},
        {"0", Type::Number},
        {"-12.50e+3", Type::Number},
        {R"("")", Type::String},
        {R"("a \" b")", Type::String},
        {"[]", Type::Array},
        {"[ 1 , 2 ]", Type::Array},
        {"{}", Type::Object},
        {R"({ "a" : {} })", Type::Object},
    };
    for (const Case& each : cases) {
        for (const std::string& text :
             {std::string(each.text), "\n \t" + std::string(each.text) + "\r\n "}) {
            Document document;
            ParseError error;
            ASSERT_TRUE(document.parse(text, error)) << text << ": " << error.message;
            EXPECT_EQ(document.root().type(), each.type) << text;
            EXPECT_EQ(document.root().raw(), each.text);
        }
    }
}

TEST(JsonTape, KeepsTheOrderOfMembersAndElements) {
    Document document;
    ParseError error;
    ASSERT_TRUE(document.parse(R"({"z":1,"a":[true,[],{"b":null}],"m":{},"q":"x"})", error));
    std::string keys;
    for (const Member member : document.root().members()) keys += std::string(member.key) + " ";
    EXPECT_EQ(keys, "z a m q ");

    std::vector<std::string> elements;
    for (const Value element : document.root().find("a").elements()) {
        elements.emplace_back(element.raw());
    }
    EXPECT_EQ(elements, (std::vector<std::string>{"true", "[]", R"({"b":null})"}));
    EXPECT_TRUE(document.root().find("m").empty());
    EXPECT_FALSE(document.root().find("a").empty());
    EXPECT_FALSE(document.root().find("nobody"));
}

TEST(JsonTape, LastDuplicateKeyWins) {
    Document document;
    ParseError error;
    ASSERT_TRUE(document.parse(R"({"a":1,"b":2,"a":{"x":1},"\u0061":3})", error));
    EXPECT_EQ(document.root().find("a").raw(), "3");
}

TEST(JsonTape, DecodesEveryEscape) {
    struct Case {
        std::string_view text;
        std::string_view content;
    };
    const Case cases[] = {
        {R"("\"\\\/\b\f\n\r\t")", "\"\\/\b\f\n\r\t"},
        {R"("\u0041\u00e9\u20AC\ud83d\udd25")", "Aé€🔥"},
        {R"("\u0000")", "\0"sv},
        {R"("\u0022\u005c")", "\"\\"},
        {R"("a\nb\nc")", "a\nb\nc"},
        {R"("\u0031\u0032")", "12"},
        // Bytes over 0x7F right after an escape, right before one, and between two.
        {"\"\\né\"", "\né"},
        {"\"é\\n\"", "é\n"},
        {"\"\\t€\\t🔥\\t\"", "\t€\t🔥\t"},
        {"\"\\u00e9é\\ud83d\\udd25🔥\"", "éé🔥🔥"},
        {"\"plain text of more than sixteen bytes \\n and as much behind it, é too\"",
         "plain text of more than sixteen bytes \n and as much behind it, é too"},
    };
    for (const Case& each : cases) {
        Document document;
        ParseError error;
        ASSERT_TRUE(document.parse(each.text, error)) << each.text << ": " << error.message;
        EXPECT_EQ(document.root().text(), each.content) << each.text;
        EXPECT_EQ(document.root().raw(), each.text);
        // Again as a key and as a member.
        const std::string object =
            "{" + std::string(each.text) + ":" + std::string(each.text) + "}";
        ASSERT_TRUE(document.parse(object, error)) << object << ": " << error.message;
        const Value member = document.root().find(each.content);
        ASSERT_TRUE(member) << object;
        EXPECT_EQ(member.raw(), each.text);
    }
}

TEST(JsonTape, FindsTheBytesOfStringsWithEscapes) {
    const std::string text =
        R"({"\n":"\n", "a" : [ "\t" , "\t", 1, "\t", {}, "\t", [], "\t" , null, "b", "\\\"" ],)"
        R"("\"":{"\r":"\r"},"end":"\u00e9"})";
    Document document;
    ParseError error;
    ASSERT_TRUE(document.parse(text, error)) << error.message;
    const Value root = document.root();
    EXPECT_EQ(root.find("\n").raw(), R"("\n")");
    std::string elements;
    for (const Value element : root.find("a").elements()) {
        elements += element.raw();
        elements += ' ';
    }
    EXPECT_EQ(elements, R"("\t" "\t" 1 "\t" {} "\t" [] "\t" null "b" "\\\"" )");
    EXPECT_EQ(root.find("\"").find("\r").raw(), R"("\r")");
    EXPECT_EQ(root.find("end").raw(), R"("\u00e9")");
    // raw() points into the text; it is not a copy.
    EXPECT_EQ(root.find("end").raw().data(), document.text().data() + text.find(R"("\u00e9")"));
}

// raw() once located each string through the one before it, so a million strings recursed a million
// calls deep.
TEST(JsonTape, FindsTheBytesOfAMillionStringsWithEscapes) {
    std::string text = "[";
    for (int i = 0; i < 1000000; ++i) text += i == 0 ? R"("\n")" : R"(,"\n")";
    text += "]";
    Document document;
    ParseError error;
    ASSERT_TRUE(document.parse(text, error)) << error.message;
    size_t count = 0;
    for (const Value element : document.root().elements()) {
        if (element.raw() != R"("\n")") FAIL() << "element " << count;
        ++count;
    }
    EXPECT_EQ(count, 1000000u);
}

TEST(JsonTape, CanBeReusedForTheNextText) {
    Tape tape;
    ParseError error;
    const std::string padding(kPadding, '\0');
    const std::string large = "[" + std::string(200000, ' ') + "\"\\n\"" + "]" + padding;
    const std::string small = R"({"a":"\t"})" + padding;
    const std::string broken = "{}\0{}"s + padding;
    for (int round = 0; round < 3; ++round) {
        ASSERT_TRUE(tape.parse(std::string_view(large).substr(0, large.size() - kPadding), error));
        ASSERT_TRUE(tape.parse(std::string_view(small).substr(0, small.size() - kPadding), error));
        EXPECT_EQ(tape.root().find("a").text(), "\t");
        ASSERT_FALSE(tape.parse({broken.data(), broken.size() - kPadding}, error));
        EXPECT_EQ(tape.node_count(), 0u);
        tape.shrink();
        ASSERT_TRUE(tape.parse(std::string_view(small).substr(0, small.size() - kPadding), error));
    }
}

TEST(JsonNumber, KeepsItsOriginalSpelling) {
    for (const std::string_view text :
         {"0", "-0", "0.0", "-0.0e-0", "1E5", "1e+5", "123456789012345678901234567890",
          "-99999999999999999999999999.5", "0.1000000000000000055511151231257827",
          "18446744073709551615", "18446744073709551616", "-9223372036854775808",
          "-9223372036854775809", "5e-324", "1e-400", "2.2250738585072011e-308"}) {
        Document document;
        ParseError error;
        ASSERT_TRUE(document.parse("[" + std::string(text) + "," + std::string(text) + "]", error));
        for (const Value element : document.root().elements()) EXPECT_EQ(element.raw(), text);
    }
}

TEST(JsonNumber, IsWholeWhenItsValueIsWhole) {
    struct Case {
        std::string_view text;
        std::optional<int64_t> integer;
        double number;
    };
    const Case cases[] = {
        {"0", 0, 0.0},
        {"-0", 0, 0.0},
        {"-0.0", 0, 0.0},
        {"42", 42, 42.0},
        {"2.0", 2, 2.0},
        {"2e3", 2000, 2000.0},
        {"25e-1", std::nullopt, 2.5},
        {"2.5", std::nullopt, 2.5},
        {"9223372036854775807", INT64_MAX, 9223372036854775807.0},
        {"-9223372036854775808", INT64_MIN, -9223372036854775808.0},
        {"9223372036854775808", std::nullopt, 9223372036854775808.0},
        {"1e18", std::nullopt, 1e18},
        {"1e-400", 0, 0.0},
    };
    for (const Case& each : cases) {
        Document document;
        ParseError error;
        ASSERT_TRUE(document.parse(each.text, error)) << each.text;
        EXPECT_EQ(document.root().integer(), each.integer) << each.text;
        EXPECT_EQ(document.root().number(), each.number) << each.text;
    }
    Document document;
    ParseError error;
    ASSERT_TRUE(document.parse("\"1\"", error));
    EXPECT_EQ(document.root().integer(), std::nullopt);
    EXPECT_EQ(document.root().number(), std::nullopt);
}

TEST(Document, UsesMemoryForItsTextAndValues) {
    const std::string text = '"' + std::string(300000, 'x') + '"';
    const narratoria::hostile::MemoryGrowth memory;
    std::vector<std::unique_ptr<Document>> all;
    for (int i = 0; i < 50; ++i) {
        all.push_back(std::make_unique<Document>());
        ParseError error;
        ASSERT_TRUE(all.back()->parse(text, error)) << error.message;
    }
    memory.expect_at_most_mebibytes(20);
}

}  // namespace
