// SPDX-License-Identifier: Apache-2.0
#include "base/json/error.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

using namespace narratoria::json;

TEST(JsonRules, HaveUniqueNames) {
    std::vector<std::string> names;
    using Kind = ParseError::Kind;
    for (const Kind kind :
         {Kind::Syntax, Kind::Empty, Kind::TrailingContent, Kind::ByteOrderMark, Kind::InvalidUtf8,
          Kind::LoneSurrogate, Kind::TooDeep, Kind::NumberTooBig, Kind::TooLarge}) {
        names.emplace_back(rule_of(kind));
    }
    EXPECT_EQ(names, (std::vector<std::string>{"json-syntax", "json-empty", "json-one-value",
                                               "json-no-bom", "json-utf8", "json-no-lone-surrogate",
                                               "json-depth", "json-number-range", "json-size"}));
}

TEST(JsonPosition, CountsLinesAndCharactersFromOne) {
    const std::string_view text = "ab\né€x\n\nz";
    struct Case {
        size_t byte, line, column;
    };
    const Case cases[] = {{0, 1, 1}, {2, 1, 3},  {3, 2, 1},  {5, 2, 2},  {8, 2, 3},
                          {9, 2, 4}, {10, 3, 1}, {11, 4, 1}, {12, 4, 2}, {999, 4, 2}};
    for (const Case& each : cases) {
        const Position position = position_of(text, each.byte);
        EXPECT_EQ(position.line, each.line) << each.byte;
        EXPECT_EQ(position.column, each.column) << each.byte;
    }
}

}  // namespace
