// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bounds the resources that a trial can use, even if the plugin is hostile. The kernel enforces
// what setrlimit can express. The parent process counts the rest (the processes of a trial).

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

namespace narratoria::command::plugin_check {

// Limits of one trial. A plugin that needs more breaks P42.
inline constexpr unsigned kMaxTrialProcesses = 16;  // that it started, and their descendants
inline constexpr unsigned kMaxTrialThreads = 56;    // of the trial's own process
inline constexpr unsigned kMaxTrialTasks = 64;      // processes and threads together
inline constexpr std::uint64_t kMaxTrialMemory = std::uint64_t{1} << 30;
inline constexpr unsigned kMaxTrialProcessorSeconds = 60;
// Applies to the output of the trial too, which is a file in memory.
inline constexpr std::uint64_t kMaxTrialFile = std::uint64_t{256} << 20;

// The content of a file of /proc, or empty: its process may end at any time.
std::string text_of(const std::string& path);

// The child processes, including zombies.
std::set<pid_t> children_of(pid_t process);

// Called in the trial's process before it loads the plugin. Descendants inherit the limits.
void limit_this_process();

// True if nearly all of kMaxTrialMemory is in use. Async-signal-safe.
bool memory_is_used_up() noexcept;

struct TrialUse {
    std::size_t processes = 0;  // descendants, with those of the decoys
    std::size_t threads = 0;
};
TrialUse use_of(pid_t trial);

// The kernel's description, "state D (disk sleep)", or "ended" if the process does not exist.
std::string describe_process_state(pid_t process);

// True if a seccomp filter or the strict mode applies to the process.
bool has_seccomp(pid_t process);

// "started more than 16 processes", or empty if the use is within the limits.
std::string excess(const TrialUse& use);

// Stops the trial's process and its descendants, so that they cannot start more, then kills them
// all. The caller must be their subreaper and reaps them.
void end_trial(pid_t trial);

}  // namespace narratoria::command::plugin_check
