// SPDX-License-Identifier: Apache-2.0
#include "process/control_groups.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/supervisor/events.h"
#include "process/supervisor/protocol.h"
#include "support/leftovers.hpp"

namespace {

using namespace narratoria;
using process::ControlGroups;
using process::describe_group_failure;
using process::names_controller;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

TEST(ControlGroupEvents, MatchWholeCounterNames) {
    constexpr const char* kMemory = "low 0\nhigh 3\nmax 41\noom 2\noom_kill 7\noom_group_kill 1\n";
    EXPECT_EQ(event_count(kMemory, "low"), 0u);
    EXPECT_EQ(event_count(kMemory, "max"), 41u);
    EXPECT_EQ(event_count(kMemory, "oom"), 2u);
    EXPECT_EQ(event_count(kMemory, "oom_kill"), 7u);
    EXPECT_EQ(event_count(kMemory, "oom_group_kill"), 1u);
    EXPECT_EQ(event_count(kMemory, "group_kill"), 0u);
    EXPECT_EQ(event_count(kMemory, "oo"), 0u);
    EXPECT_EQ(event_count("max 12", "max"), 12u);
}

TEST(ControlGroupEvents, AreZeroWithoutValidNumber) {
    EXPECT_EQ(event_count("", "max"), 0u);
    EXPECT_EQ(event_count("max", "max"), 0u);
    EXPECT_EQ(event_count("max ", "max"), 0u);
    EXPECT_EQ(event_count("max -1\n", "max"), 0u);
    EXPECT_EQ(event_count("max 1x\nmax 5\n", "max"), 0u);
    EXPECT_EQ(event_count("max 18446744073709551615\n", "max"), UINT64_MAX);
    EXPECT_EQ(event_count("max 18446744073709551616\n", "max"), UINT64_MAX);
    EXPECT_EQ(event_count("max 99999999999999999999999\n", "max"), UINT64_MAX);
}

TEST(ControlGroups, FindControllerInList) {
    EXPECT_TRUE(names_controller("cpuset cpu io memory pids\n", "pids"));
    EXPECT_TRUE(names_controller("cpuset cpu io memory pids\n", "memory"));
    EXPECT_TRUE(names_controller("pids", "pids"));
    EXPECT_FALSE(names_controller("cpuset cpu\n", "pids"));
    EXPECT_FALSE(names_controller("cpuset cpu\n", "set"));
    EXPECT_FALSE(names_controller("\n", "pids"));
    EXPECT_FALSE(names_controller("", "pids"));
}

TEST(ControlGroups, ReportFailureAndRemedy) {
    EXPECT_EQ(
        describe_group_failure(SUPERVISOR_STAGE_GROUP, EACCES, "/g"),
        "cannot create a group in the cgroup folder \"/g\": Permission denied; the folder must "
        "belong to the user who runs this program (chown)");
    EXPECT_THAT(describe_group_failure(SUPERVISOR_STAGE_GROUP, EAGAIN, "/g"),
                EndsWith("see cgroup.max.descendants and cgroup.max.depth there and above"));
    EXPECT_EQ(describe_group_failure(SUPERVISOR_STAGE_GROUP, ENOMEM, "/g"),
              "cannot create a group in the cgroup folder \"/g\": Cannot allocate memory");
    EXPECT_EQ(describe_group_failure(SUPERVISOR_STAGE_GROUP_PROCESSES, ENOENT, "/g"),
              "pids.max of a group in \"/g\" cannot be written: No such file or directory");
    EXPECT_THAT(describe_group_failure(SUPERVISOR_STAGE_GROUP_MEMORY, EBUSY, "/g"),
                AllOf(HasSubstr("memory.max"), HasSubstr("\"/g\""), EndsWith("busy")));
    EXPECT_THAT(describe_group_failure(SUPERVISOR_STAGE_GROUP_ENTER, EACCES, "/g"),
                AllOf(StartsWith("cannot move a process into a group in \"/g\": Permission denied"),
                      HasSubstr("cgroup.procs of the lowest folder above both")));
    EXPECT_THAT(describe_group_failure(SUPERVISOR_STAGE_GROUP_ENTER, EOPNOTSUPP, "/g"),
                AllOf(HasSubstr("processes in the folder itself"), HasSubstr("cgroup.type")));
}

TEST(ControlGroups, RefuseInvalidFolder) {
    const hostile::TemporaryFolder folder;
    ControlGroups groups;
    std::string why;
    EXPECT_FALSE(groups.open(folder.path(), why));
    EXPECT_THAT(why,
                StartsWith("\"" + folder.path() + "\" is not a cgroup2 folder; name one below"));
    EXPECT_FALSE(groups.open(folder.path() + "/none", why));
    EXPECT_EQ(why,
              "the cgroup folder \"" + folder.path() +
                  "/none\" cannot be opened: No such file or directory; create it, and give it "
                  "to the user who runs this program");
    EXPECT_FALSE(groups.open("/proc/self/status", why));
    EXPECT_EQ(why, "the cgroup folder \"/proc/self/status\" cannot be opened: Not a directory");
    EXPECT_FALSE(groups.is_open());
    groups.remove_groups(0);
}

}  // namespace
