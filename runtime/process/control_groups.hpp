// SPDX-License-Identifier: Apache-2.0
#pragma once
// The cgroup2 folder that the host gave to the engine. Each invocation gets its own control group
// in it, which its supervisor creates and removes. This class checks the folder before anything
// runs, and removes leftover groups at the end.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/descriptor.hpp"

namespace narratoria::process {

// The cgroup controllers that an invocation needs for its limits.
struct Controllers {
    bool processes = false;
    bool memory = false;
};

// Owns the descriptor of the folder. Belongs to one Pool. Engine thread only.
class ControlGroups {
public:
    // Opens the folder and checks that it is on cgroup2. On failure returns false, sets `why`, and
    // leaves the object closed.
    bool open(const std::string& path, std::string& why);

    // Enables the controllers for groups in this folder. On failure returns false and sets `why` to
    // the cause and the remedy.
    bool enable(Controllers wanted, std::string& why);

    bool is_open() const { return static_cast<bool>(folder_); }
    const Descriptor& folder() const { return folder_; }
    const std::string& path() const { return path_; }
    // Prefix of the names of this engine's groups. It is unique, so groups of other engines are
    // never touched.
    const std::string& prefix() const { return prefix_; }

    // Kills the processes in this engine's groups and removes the groups. Blocks for at most
    // `patience_ms`. With `supervisor` (its number): only the groups that this supervisor
    // created.
    void remove_groups(int patience_ms, uint32_t supervisor = 0) const;

private:
    std::string path_;
    std::string prefix_;
    Descriptor folder_;
};

// Returns a message for a group that could not be created, limited or entered. `stage`: a
// supervisor_stage; `error`: an errno.
std::string describe_group_failure(uint32_t stage, int error, const std::string& path);

// True if `list`, in the form of cgroup.controllers ("cpu memory pids"), contains `controller`.
bool names_controller(std::string_view list, std::string_view controller);

}  // namespace narratoria::process
