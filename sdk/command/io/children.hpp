// SPDX-License-Identifier: Apache-2.0
#pragma once
// Child processes of the command, for the checks: they run what may leave anything behind.

#include <sys/types.h>

#include <string>
#include <vector>

namespace narratoria::command {

// A check that a signal ended early.
struct Interrupted {
    int signal;
};

struct Child {
    pid_t process;
    std::string name;
};

// Makes this process the parent of its descendants' orphans. Once, before the first check.
void adopt_orphans();

// All children that have not ended, adopted ones included.
std::vector<Child> living_children();

void reap_ended_children();

// Kills and reaps all children, adopted ones included.
void end_all_children();

// "exit status 3", "signal 11 (Segmentation fault)"
std::string shown_wait_status(int wait_status);

}  // namespace narratoria::command
