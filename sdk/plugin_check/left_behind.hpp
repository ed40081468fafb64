// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a plugin changed in the process, or left in it: compared with what was there before.

#include <map>
#include <string>
#include <string_view>

#include "plugin_check/child.hpp"
#include "plugin_check/process_state.hpp"

namespace narratoria::command::plugin_check {

// Taken before an instance, or the library, exists.
struct Before {
    ProcessState state = ProcessState::now();
    std::map<int, std::string> descriptors = open_descriptors();
    std::map<int, std::string> threads = running_threads();

    // `rule` is the one that a changed process breaks.
    void judge_state(TrialReport& report, std::string_view rule, std::string_view when) const;
    // Threads, descriptors and children, once deinit has returned.
    void judge_rest(TrialReport& report) const;
};

}  // namespace narratoria::command::plugin_check
