// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bounds what a trial can take from the machine, whatever the plugin does. The kernel's limits hold
// at once; what they cannot count (the processes of one trial) the watching process counts and ends.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace narratoria::command::plugin_check {

// Of one trial. A plugin that needs more breaks P42.
inline constexpr unsigned kMaxTrialProcesses = 16;  // that it started, and their descendants
inline constexpr unsigned kMaxTrialThreads = 56;    // of the trial's own process
inline constexpr unsigned kMaxTrialTasks = 64;      // processes and threads together
inline constexpr std::uint64_t kMaxTrialMemory = std::uint64_t{1} << 30;
inline constexpr unsigned kMaxTrialProcessorSeconds = 60;
// Its output is a file in memory too.
inline constexpr std::uint64_t kMaxTrialFile = std::uint64_t{256} << 20;

// In the trial's process, before the plugin is loaded. Descendants inherit the limits.
void limit_this_process();

// Nearly all of kMaxTrialMemory is in use. Async-signal-safe.
bool memory_is_used_up() noexcept;

struct TrialUse {
    std::size_t processes = 0;  // descendants
    std::size_t threads = 0;
};
TrialUse use_of(pid_t trial);

// "state D (disk sleep)" as the kernel has it; "ended" when there is no such process.
std::string shown_process_state(pid_t process);

// A filter of system calls, or the strict mode, holds for the process.
bool has_seccomp(pid_t process);

// "started more than 16 processes", or empty while it is within the limits.
std::string excess(const TrialUse& use);

// Stops the trial's process and its descendants first, so that none can start others meanwhile, then
// kills them all. The caller must be their subreaper, and reaps them.
void end_trial(pid_t trial);

}  // namespace narratoria::command::plugin_check
