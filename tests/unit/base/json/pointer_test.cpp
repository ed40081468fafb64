// SPDX-License-Identifier: Apache-2.0
#include "base/json/pointer.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace narratoria::json;

TEST(JsonPointer, EscapesTildeAndSlash) {
    std::string pointer;
    append_pointer(pointer, "a/b~c");
    append_pointer(pointer, size_t{12});
    append_pointer(pointer, "");
    EXPECT_EQ(pointer, "/a~1b~0c/12/");
}

}  // namespace
