// SPDX-License-Identifier: Apache-2.0
#include "tool/schema/pattern.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace narratoria::tool {
namespace {

using ::testing::HasSubstr;

bool matches(const std::string& pattern, const std::string& text) {
    Pattern compiled;
    std::string problem;
    EXPECT_TRUE(compiled.compile(pattern, problem)) << pattern << ": " << problem;
    uint64_t steps = 1'000'000;
    const bool found = compiled.search(text, steps);
    EXPECT_GT(steps, 0u);
    return found;
}

std::string refusal(const std::string& pattern) {
    Pattern compiled;
    std::string problem;
    EXPECT_FALSE(compiled.compile(pattern, problem)) << pattern;
    return problem;
}

TEST(Pattern, MatchesPartOfText) {
    EXPECT_TRUE(matches("b", "abc"));
    EXPECT_TRUE(matches("", ""));
    EXPECT_FALSE(matches("^b", "abc"));
    EXPECT_FALSE(matches("b$", "abc"));
    EXPECT_TRUE(matches("^abc$", "abc"));
    EXPECT_FALSE(matches("^abc$", "abc\n"));
}

TEST(Pattern, SupportsEcma262Syntax) {
    EXPECT_TRUE(matches("^(?:ab|c)+?d{2,3}$", "abcdd"));
    EXPECT_FALSE(matches("^a{2}$", "aaa"));
    EXPECT_TRUE(matches("^a{2,}$", "aaa"));
    EXPECT_TRUE(matches("^(?<year>\\d{4})-\\d\\d$", "2026-11"));
    EXPECT_TRUE(matches("^[^\\u0000-\\u001f\"]*$", "text"));
    EXPECT_FALSE(matches("^[\\w.-]+$", "a b"));
    EXPECT_TRUE(matches("^[-a]+$", "-a-"));
    EXPECT_TRUE(matches("^[\\d-z]+$", "1-z"));
    EXPECT_TRUE(matches("^{.*}$", "{x}"));
    EXPECT_TRUE(matches("\\bword\\b", "a word."));
    EXPECT_FALSE(matches("\\bword\\b", "sword"));
    EXPECT_TRUE(matches("^[^]$", "\n"));
    EXPECT_FALSE(matches("^.$", "\n"));
    EXPECT_TRUE(matches("^\\x41\\cC\\/\\-$", "A\x03/-"));
    EXPECT_FALSE(matches("[]", "a"));
}

TEST(Pattern, CountsCharactersNotBytes) {
    EXPECT_TRUE(matches("^.$", "\U0001F432"));
    EXPECT_TRUE(matches("^\\ud83d\\udc32$", "\U0001F432"));
    EXPECT_TRUE(matches("^\\u{1F432}{2}$", "\U0001F432\U0001F432"));
    EXPECT_TRUE(matches("^[à-ü]$", "é"));
    EXPECT_FALSE(matches("^\\w$", "é"));
    EXPECT_TRUE(matches("^\\s$", "\u00a0"));
}

TEST(Pattern, RefusesUnsupportedSyntaxWithReason) {
    EXPECT_THAT(refusal("(?!a)"), HasSubstr("look-ahead"));
    EXPECT_THAT(refusal("(?<!a)b"), HasSubstr("look-behind"));
    EXPECT_THAT(refusal("(a)\\1"), HasSubstr("back-reference"));
    EXPECT_THAT(refusal("\\p{L}"), HasSubstr("\\p is not supported"));
    EXPECT_THAT(refusal("(a"), HasSubstr("not closed"));
    EXPECT_THAT(refusal("a)"), HasSubstr("no matching \"(\""));
    EXPECT_THAT(refusal("[a"), HasSubstr("not closed"));
    EXPECT_THAT(refusal("[b-a]"), HasSubstr("in the wrong order"));
    EXPECT_THAT(refusal("a{3,2}"), HasSubstr("in the wrong order"));
    EXPECT_THAT(refusal("*a"), HasSubstr("nothing to repeat"));
    EXPECT_THAT(refusal("a**"), HasSubstr("follows a quantifier"));
    EXPECT_THAT(refusal("\\"), HasSubstr("backslash"));
    EXPECT_THAT(refusal("\\a"), HasSubstr("does not begin a valid escape"));
}

TEST(Pattern, RefusesLargePatterns) {
    EXPECT_THAT(refusal("((a{1000}){1000}){1000}"), HasSubstr("too large"));
    EXPECT_THAT(refusal("(((((){1000}){1000}){1000}){1000}){1000}"), HasSubstr("too large"));
    EXPECT_THAT(refusal(std::string(200, '(') + std::string(200, ')')), HasSubstr("nested"));
    EXPECT_THAT(refusal(std::string(100'000, 'a')), HasSubstr("longer than"));
}

TEST(Pattern, CountsAndBoundsSteps) {
    Pattern pattern;
    std::string problem;
    ASSERT_TRUE(pattern.compile("(a|b)*a(a|b){500}c", problem));
    uint64_t steps = 100'000;
    EXPECT_FALSE(pattern.search(std::string(1'000'000, 'a'), steps));
    EXPECT_EQ(steps, 0u);
}

}  // namespace
}  // namespace narratoria::tool
