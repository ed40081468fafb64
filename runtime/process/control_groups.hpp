// SPDX-License-Identifier: Apache-2.0
#pragma once
// The cgroup2 folder that a host was given: in it each invocation gets a group of its own, which its
// supervisor makes and removes. Here it is looked at, before anything runs, and left behind clean.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/descriptor.hpp"

namespace narratoria::process {

// What invocations are to be limited in.
struct Controllers {
    bool processes = false;
    bool memory = false;
};

class ControlGroups {
public:
    // False, and why, when the folder cannot be used; then it is as if it had not been opened.
    bool open(const std::string& path, std::string& why);

    // Sees to it that groups can be limited in this. False, and why and what to do, when not.
    bool enable(Controllers wanted, std::string& why);

    bool is_open() const { return static_cast<bool>(folder_); }
    const Descriptor& folder() const { return folder_; }
    const std::string& path() const { return path_; }
    // What the names of our groups begin with; no other engine's do.
    const std::string& prefix() const { return prefix_; }

    // Kills what is in groups of ours and removes them, waiting for at most so long. With a number:
    // those alone that this supervisor made.
    void remove_groups(int patience_ms, int supervisor = 0) const;

private:
    std::string path_;
    std::string prefix_;
    Descriptor folder_;
};

// Why a group could not be made, limited or entered: `stage` is a supervisor_stage, `error` errno.
std::string describe_group_failure(uint32_t stage, int error, const std::string& path);

// Whether a list as cgroup.controllers has it ("cpu memory pids") names this one.
bool names_controller(std::string_view list, std::string_view controller);

}  // namespace narratoria::process
