// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds what a plugin changed in the process or left in it, by comparison with a snapshot.

#include <map>
#include <string>
#include <string_view>

#include "plugin_check/child.hpp"
#include "plugin_check/process_state.hpp"

namespace narratoria::command::plugin_check {

// The snapshot, taken before the instance or the library exists.
struct ProcessSnapshot {
    ProcessState state = ProcessState::now();
    std::map<int, std::string> descriptors = open_descriptors();
    std::map<int, std::string> threads = running_threads();

    // Reports changes to the process state as findings of `rule`.
    void report_state_changes(TrialReport& report, std::string_view rule,
                              std::string_view when) const;
    // Reports threads, descriptors and children that are left after deinit.
    void report_leaks(TrialReport& report) const;
};

}  // namespace narratoria::command::plugin_check
