// SPDX-License-Identifier: Apache-2.0
#include "base/near_name.hpp"

#include <gtest/gtest.h>

#include <string>

namespace narratoria {
namespace {

std::string_view near(std::string_view name) {
    static constexpr std::string_view kKnown[] = {"toolId",       "toolPath",    "input",
                                                  "dependencies", "required",    "async",
                                                  "retryPolicy",  "environment", "timeoutMs"};
    return near_name(name, kKnown);
}

TEST(NearName, IsAFewLettersAway) {
    EXPECT_EQ(near("dependancies"), "dependencies");
    EXPECT_EQ(near("depencencies"), "dependencies");
    EXPECT_EQ(near("dependencie"), "dependencies");
    EXPECT_EQ(near("dependacyes"), "") << "three slips need a long name";
    static constexpr std::string_view kLong[] = {"allowed_capabilities"};
    EXPECT_EQ(near_name("alowd_capabilites", kLong), "allowed_capabilities");
    EXPECT_EQ(near_name("alwd_capabilites", kLong), "") << "four slips";
    EXPECT_EQ(near("tooIPath"), "toolPath");
    EXPECT_EQ(near("tooldI"), "toolId") << "neighbours swapped";
    EXPECT_EQ(near("inputs"), "input");
    EXPECT_EQ(near("requierd"), "required");
}

TEST(NearName, IgnoresCaseAndSeparators) {
    EXPECT_EQ(near("tool_id"), "toolId");
    EXPECT_EQ(near("Tool-Path"), "toolPath");
    EXPECT_EQ(near("RETRY_POLICY"), "retryPolicy");
}

TEST(NearName, PrefixMatchesTheFullName) {
    EXPECT_EQ(near("retry"), "retryPolicy");
    EXPECT_EQ(near("timeout"), "timeoutMs");
    EXPECT_EQ(near("env"), "") << "too short to mean one";
}

TEST(NearName, UnrelatedWordsHaveNone) {
    for (const char* word : {"", "note", "output", "x", "id", "requested", "title", "inputSchema",
                             "continue", "comment", "a_rather_long_name_that_means_something"}) {
        EXPECT_EQ(near(word), "") << word;
    }
    EXPECT_EQ(near(std::string(100000, 'x')), "");
    const std::string long_name(100000, 'x');
    const std::string_view known[] = {long_name};
    EXPECT_EQ(near_name("xxxxxx", known), "");
}

}  // namespace
}  // namespace narratoria
