// SPDX-License-Identifier: Apache-2.0
#pragma once
// Inspects processes in /proc that are not children of this process.

#include <sys/types.h>

namespace narratoria::process {

// The state of a supervisor.
enum class SupervisorState {
    Gone,     // it has ended, or a different program has its process id
    Runs,     // it runs or waits in the kernel
    Stopped,  // by SIGSTOP
    Traced    // stopped by ptrace: SIGCONT does not wake it
};
SupervisorState state_of_supervisor(pid_t process);

// Sends SIGKILL to all descendants of a process, but not to itself. Returns false if it has no
// living descendants.
bool kill_descendants(pid_t process);

}  // namespace narratoria::process
