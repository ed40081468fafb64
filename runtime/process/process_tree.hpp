// SPDX-License-Identifier: Apache-2.0
#pragma once
// Processes that are not ours to wait for, as /proc shows them.

#include <sys/types.h>

namespace narratoria::process {

// What a supervisor does, by its process id.
enum class SupervisorState {
    Gone,     // it has ended, or another program has its process id
    Runs,     // or waits in the kernel
    Stopped,  // by SIGSTOP
    Traced    // stopped by ptrace: SIGCONT does not wake it
};
SupervisorState state_of_supervisor(pid_t process);

// Sends SIGKILL to everything that descends from a process, not to itself. False if nothing that
// lives descends from it.
bool kill_descendants(pid_t process);

}  // namespace narratoria::process
