// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stand-ins for what a real host has in its process and a plugin must leave alone: an epoll
// descriptor with two registrations, an eventfd, a pipe, a running child process and one that has
// exited but was not waited for. The fake host does not use them.

#include <sys/types.h>

#include <array>
#include <string>

#include "io/file.hpp"

namespace narratoria::command::plugin_check {

class TrialReport;

// The child processes among them.
inline constexpr unsigned kDecoyProcesses = 2;

// Created in the trial's process before the library is loaded. The parent of the trial ends the
// processes.
class Decoys {
public:
    // The running child ends when all copies of the other end of the pipe `alive` are closed.
    explicit Decoys(int alive);
    Decoys(Decoys&&) = delete;

    // Findings of P45 and P46.
    void report_changes(TrialReport& report, std::string_view when) const;

    // True if this process has children besides the decoys.
    bool has_other_children() const;

    pid_t running_child() const { return running_; }

private:
    struct Watched {
        int number;
        const char* what;
        std::string state;  // its target, flags and registrations, count or unread bytes
    };

    Descriptor epoll_, event_, read_end_, write_end_;
    std::array<Watched, 4> watched_;
    pid_t running_ = -1;
    pid_t exited_ = -1;
};

// The decoys of this trial, or NULL outside of one.
extern Decoys* this_trials_decoys;

// What happened to the running child of a trial that has ended, or empty if it still runs. The
// caller is its parent now.
std::string describe_end_of_decoy(pid_t running_child);

}  // namespace narratoria::command::plugin_check
