// SPDX-License-Identifier: Apache-2.0
#include "base/fork_count.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace narratoria {
namespace {

TEST(ForkCount, GrowsInTheChildOnly) {
    const std::uint64_t before = fork_count();
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) ::_exit(fork_count() == before + 1 ? 0 : 1);
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT_EQ(fork_count(), before);
}

}  // namespace
}  // namespace narratoria
