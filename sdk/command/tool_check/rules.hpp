// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rules for tools, and the verdicts on the observed runs of a tool.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tool_check/observed_run.hpp"

namespace narratoria::command::tool_check {

struct Rule {
    std::string_view id;      // never reused for a different rule
    std::string_view title;   // the behaviour of a conforming tool
    std::string_view source;  // the document that requires it
    std::string_view advice;  // how to fix a finding
};

struct Finding {
    std::string run;       // the run that showed it; empty: all of them
    std::size_t line = 0;  // of standard output, from 1; 0: not about a line
    std::size_t byte = 0;  // in that line, from 1, as in the runtime's errors
    std::string pointer;
    std::string message;
};

enum class Verdict { Passed, Failed, NotApplicable };

struct Judgement {
    const Rule* rule;
    Verdict verdict;
    std::string why;  // the reason for NotApplicable
    std::vector<Finding> findings;
};

// The observed runs that the rules are checked against.
struct Evidence {
    std::string path;  // of the tool, absolute
    std::string request_id;
    double grace = 2;
    double time_limit = 30;
    bool has_no_input = false;                  // no input was given
    bool has_return = false;                    // its interpreter line ends in a carriage return
    ObservedRun plain;                          // with the given input
    std::optional<ObservedRun> without_input;   // standard input is empty
    std::optional<ObservedRun> unknown_fields;  // the invocation has fields of a later version
    std::optional<ObservedRun> terminated;      // ended early with SIGTERM
};

// True if a run follows the protocol to its end. Otherwise the other runs are skipped.
bool speaks_protocol(const ObservedRun& run);

// The `ok` of its done event, or nothing without one.
std::optional<bool> reported_success(const ObservedRun& run);

// Every rule, in order.
std::vector<Judgement> judge(const Evidence& evidence);

}  // namespace narratoria::command::tool_check
