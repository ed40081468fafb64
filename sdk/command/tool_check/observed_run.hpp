// SPDX-License-Identifier: Apache-2.0
#pragma once
// Observes a run of a tool from outside: its exact output, the times, its exit, and the processes
// that it left. `tool check` does not use the runtime, which tolerates faults: it ends lingering
// processes and drops late output.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace narratoria::command::tool_check {

struct ObservedRun {
    int start_error = 0;  // errno if it could not be started
    std::string output;
    std::string diagnostics;  // the last part of its standard error
    bool output_cut = false;  // it wrote more than the check keeps
    int wait_status = 0;
    double seconds = 0;                        // from start to exit
    std::optional<double> seconds_after_done;  // from the first done line to the exit
    bool out_of_time = false;                  // it was sent SIGTERM at the time limit
    bool ended_by_us = false;                  // it was sent SIGTERM
    bool ignored_sigterm = false;              // it was killed after the grace period
    double seconds_after_sigterm = 0;
    std::vector<std::string> left_behind;  // "sleep (process 4711)"
};

struct ObservedRunOptions {
    std::string path;
    std::string input;       // written to its standard input, then end of file
    double time_limit = 30;  // seconds, then SIGTERM
    double grace = 2;        // seconds from done to exit, and from SIGTERM to SIGKILL
    std::optional<double> terminate_after;  // seconds, then SIGTERM in any case
};

// Runs the tool in its own process session, with the environment and the working folder that the
// runtime gives to tools. All its processes have ended on return. Throws Interrupted if a signal
// arrives that asks the command to end.
ObservedRun observe_run(const ObservedRunOptions& options);

}  // namespace narratoria::command::tool_check
