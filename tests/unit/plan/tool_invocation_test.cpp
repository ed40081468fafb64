// SPDX-License-Identifier: Apache-2.0
#include "plan/tool_invocation.hpp"

#include <gtest/gtest.h>

namespace narratoria::plan {
namespace {

TEST(ToolInvocation, InputIsStoredOnOneLineWithoutSpaces) {
    ToolInvocation invocation;
    std::string why;
    ASSERT_TRUE(parse("{\"tool\":\"t\",\"input\":{\n \"a\" : [ 1 , \" b \" ] }}", invocation, why))
        << why;
    EXPECT_EQ(invocation.input, R"({"a":[1," b "]})");
}

}  // namespace
}  // namespace narratoria::plan
