// SPDX-License-Identifier: Apache-2.0
#pragma once
// Child processes of the command, for the checks, whose plugins and tools may leave processes
// behind.

#include <sys/types.h>

#include <string>
#include <vector>

namespace narratoria::command {

// Thrown when a signal ends a check early.
struct Interrupted {
    int signal;
};

struct Child {
    pid_t process;
    std::string name;
};

// Makes this process the subreaper of its descendants. Call once, before the first check.
void adopt_orphans();

// All running children, including adopted ones.
std::vector<Child> living_children();

void reap_ended_children();

// Kills and reaps all children, including adopted ones.
void end_all_children();

// "exit status 3", "signal 11 (Segmentation fault)"
std::string describe_wait_status(int wait_status);

}  // namespace narratoria::command
