// SPDX-License-Identifier: Apache-2.0
#include "base/json/tape.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace narratoria::json;

// JSON without escapes has its own reader; a string with an escape before the value sends both to
// RapidJSON. Both readers must produce the same tape.
void expect_same_tape(Value plain, Value other, const std::string& text) {
    ASSERT_EQ(plain.type(), other.type()) << text;
    EXPECT_EQ(plain.raw(), other.raw()) << text;
    if (plain.is_object()) {
        auto their = other.members().begin();
        for (const Member member : plain.members()) {
            EXPECT_EQ(member.key, (*their).key) << text;
            expect_same_tape(member.value, (*their).value, text);
            ++their;
        }
        EXPECT_FALSE(their != other.members().end()) << text;
    } else if (plain.is_array()) {
        auto their = other.elements().begin();
        for (const Value element : plain.elements()) {
            expect_same_tape(element, *their, text);
            ++their;
        }
        EXPECT_FALSE(their != other.elements().end()) << text;
    } else if (plain.is_string() || plain.is_number()) {
        EXPECT_EQ(plain.text(), other.text()) << text;
    }
}

TEST(JsonTape, BothReadersProduceTheSameTape) {
    for (const std::string text :
         {R"({})", R"([])", R"({"a":{}})", R"([[],[[]],{"":[]}])", R"("")", R"(-0)", R"(0.0)",
          R"( { "a" : [ 1 , -2.50 , true , false , null ] , "b" : "ä€🔥" } )",
          "{\"a\":\n\t[\r\n1]\n}", R"({"a":1,"a":2,"a":{"a":3}})",
          R"(123456789012345678901234567890)", R"({"0123456789abcdef":"0123456789abcdef"})"}) {
        const std::string both = R"(["\n",)" + text + "]";
        Document plain, other;
        ParseError error;
        ASSERT_TRUE(plain.parse(text, error)) << text << ": " << error.message;
        ASSERT_TRUE(other.parse(both, error)) << both << ": " << error.message;
        const auto elements = other.root().elements();
        auto second = elements.begin();
        ++second;
        expect_same_tape(plain.root(), *second, text);
    }
}

}  // namespace
