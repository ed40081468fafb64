// SPDX-License-Identifier: Apache-2.0
#include "process/error_text.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace narratoria::process {
namespace {

TEST(ErrorText, IsEnglishAndNamesUnknownNumbers) {
    EXPECT_EQ(error_text(ENOENT), "No such file or directory");
    EXPECT_EQ(error_text(987654), "error 987654");
}

}  // namespace
}  // namespace narratoria::process
