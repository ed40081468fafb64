// SPDX-License-Identifier: Apache-2.0
#include "plugin_check/leak_check.hpp"

#include <fmt/core.h>

#include "plugin_check/decoys.hpp"
#include "plugin_check/trials.hpp"

namespace narratoria::command::plugin_check {

void ProcessSnapshot::report_state_changes(TrialReport& report, std::string_view rule,
                                           std::string_view when) const {
    const auto gone = lost(descriptors, open_descriptors());
    if (!gone.empty()) {
        report.add_finding("P45",
                           fmt::format("it closed or replaced a descriptor that is not its own "
                                       "{}: {}",
                                       when, joined(gone)));
    }
    this_trials_decoys->report_changes(report, when);
    // Reading the state may crash: the plugin may have set environ to any address.
    report.begin_call({rule, rule, rule}, "reading the state of the process");
    for (const std::string& name : ProcessState::now().changed_since(state)) {
        report.add_finding(rule, fmt::format("{} changed {}", name, when));
    }
    report.end_call();
}

void ProcessSnapshot::report_leaks(TrialReport& report) const {
    const auto threads_left = added_threads(threads);
    if (!threads_left.empty()) {
        report.add_finding("P20", fmt::format("a thread still runs after deinit has returned: {}",
                                              joined(threads_left)));
    }
    const auto open = added(descriptors, open_descriptors());
    if (!open.empty()) {
        report.add_finding("P28", fmt::format("a descriptor is still open after deinit has "
                                              "returned: {}",
                                              joined(open)));
    }
    if (this_trials_decoys->has_other_children()) {
        report.add_finding("P28", "a child process is left after deinit has returned");
    }
}

}  // namespace narratoria::command::plugin_check
