// SPDX-License-Identifier: Apache-2.0
#include "tool/runner/container_runner.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace narratoria::tool {
namespace {

TEST(ContainerNames, OfARunningHostAreInUse) {
    const ContainerName own = ContainerName::of_this_process();
    EXPECT_GT(own.started, 0u);
    EXPECT_TRUE(own.text(7).starts_with("narratoria-"));
    EXPECT_FALSE(own.is_left_behind(own.text(7)));
}

TEST(ContainerNames, OfADeadHostAreLeftBehind) {
    const ContainerName own = ContainerName::of_this_process();
    ContainerName dead = own;
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) _exit(0);
    dead.process = static_cast<uint64_t>(child);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    EXPECT_TRUE(own.is_left_behind(dead.text(1)));
    // Another process has the number of the dead one.
    ContainerName reused = own;
    reused.started += 1;
    EXPECT_TRUE(own.is_left_behind(reused.text(1)));
}

TEST(ContainerNames, OfOthersAreLeftAlone) {
    const ContainerName own = ContainerName::of_this_process();
    ContainerName elsewhere = own;
    elsewhere.machine = "0123456789abcdef";
    elsewhere.started += 1;
    EXPECT_FALSE(own.is_left_behind(elsewhere.text(1)));
    const std::string start = "narratoria-" + own.machine + "-";
    for (const std::string& name :
         {std::string(), std::string("narratoria-db"), start, start + "1", start + "1-",
          start + "1-2", start + "x-2-3", start + "1-x-3", start + "-1-2-3", "x" + start + "1-2-3",
          start + "0-2-3", start + "99999999999-2-3"}) {
        EXPECT_FALSE(own.is_left_behind(name)) << name;
    }
}

}  // namespace
}  // namespace narratoria::tool
