// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rules of a good tool, and what observed runs of one say about them.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tool_check/observed_run.hpp"

namespace narratoria::command::tool_check {

struct Rule {
    std::string_view id;      // never given to another rule
    std::string_view title;   // what a good tool does
    std::string_view source;  // where it is written
    std::string_view advice;  // what to do about a finding
};

struct Finding {
    std::string run;       // which run showed it; empty: all of them
    std::size_t line = 0;  // of standard output, from 1; 0: about no line
    std::size_t byte = 0;  // in that line, from 1, as in the error of a tool that runs
    std::string pointer;
    std::string message;
};

enum class Verdict { Passed, Failed, NotApplicable };

struct Judgement {
    const Rule* rule;
    Verdict verdict;
    std::string why;  // it is not applicable
    std::vector<Finding> findings;
};

// The runs that the rules are judged by.
struct Evidence {
    std::string path;  // of the tool, absolute
    std::string request_id;
    double grace = 2;
    double time_limit = 30;
    bool has_return = false;                    // its interpreter line ends in a carriage return
    ObservedRun plain;                          // as asked
    std::optional<ObservedRun> without_input;   // standard input is empty
    std::optional<ObservedRun> unknown_fields;  // the invocation has fields of a later version
    std::optional<ObservedRun> told_to_end;     // SIGTERM in the middle
};

// Whether a run speaks the protocol to its end: then the other runs are worth making.
bool speaks_protocol(const ObservedRun& run);

// True or false as its done event says; nothing without one.
std::optional<bool> reported_success(const ObservedRun& run);

// Every rule, in order.
std::vector<Judgement> judge(const Evidence& evidence);

}  // namespace narratoria::command::tool_check
