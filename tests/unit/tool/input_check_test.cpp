// SPDX-License-Identifier: Apache-2.0
#include "tool/input_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace narratoria::tool {
namespace {

using ::testing::HasSubstr;

constexpr const char* kSchema =
    R"({"type":"object","required":["city"],"additionalProperties":false,
    "properties":{"city":{"type":"string"},"way":{"enum":["up","down"]},"at":{"type":"object",
    "properties":{"x":{"type":["integer","null"]}}},"days":{"minimum":1}}})";

std::string check(const std::string& input) {
    return check_input(kSchema, R"({"input":)" + input + "}");
}

TEST(InputCheck, AnInputThatFitsHasNoFault) {
    EXPECT_EQ(check(R"({"city":"Oslo","way":"up","at":{"x":null}})"), "");
}

TEST(InputCheck, AFaultSaysWhatIsMissingUnknownOrOfAnotherKind) {
    EXPECT_THAT(check("{}"), HasSubstr(R"(at "/input": "city" is missing)"));
    EXPECT_THAT(check(R"({"city":1})"),
                HasSubstr(R"(at "/input/city": is an integer, and must be "string")"));
    EXPECT_THAT(check(R"({"city":"a","town":1})"),
                HasSubstr(R"(at "/input/town": is unknown; it takes "city", "way", "at", "days")"));
    EXPECT_THAT(check(R"({"city":"a","way":"left"})"),
                HasSubstr(R"(at "/input/way": is "left", and must be one of "up", "down")"));
    EXPECT_THAT(check(R"({"city":"a","at":{"x":1.5}})"),
                HasSubstr(R"(at "/input/at/x": is a number, and must be "integer", "null")"));
}

TEST(InputCheck, OtherRulesAreNamedWithTheirPlaceInTheSchema) {
    EXPECT_THAT(check(R"({"city":"a","days":0})"),
                HasSubstr(R"("minimum" (the schema's "/properties/days")"));
}

}  // namespace
}  // namespace narratoria::tool
