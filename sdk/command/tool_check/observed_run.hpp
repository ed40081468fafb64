// SPDX-License-Identifier: Apache-2.0
#pragma once
// One run of a tool, watched from outside: what it wrote, byte for byte, when, how it ended, and
// what it left behind. `tool check` looks at tools without the runtime in between, because the
// runtime is polite: it ends what lingers and drops what is written too late.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace narratoria::command::tool_check {

struct ObservedRun {
    int start_error = 0;  // errno when it could not be started
    std::string output;
    std::string diagnostics;  // the end of its standard error
    bool output_cut = false;  // it wrote more than the check keeps
    int wait_status = 0;
    double seconds = 0;                        // from start to exit
    std::optional<double> seconds_after_done;  // from the first done line to the exit
    bool out_of_time = false;                  // it was told to end, because its time was up
    bool ended_by_us = false;                  // it was sent SIGTERM
    bool ignored_sigterm = false;              // and had to be killed after the grace
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

// Runs the tool in a session of its own, with the environment and the working folder that the
// runtime gives to tools. Everything of it has ended when this returns. Throws Interrupted when a
// signal asked the command to end meanwhile.
ObservedRun observe_run(const ObservedRunOptions& options);

}  // namespace narratoria::command::tool_check
