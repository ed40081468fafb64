// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the result of a plan leaves the command, and what is told about a plan that failed.

#include <string>
#include <string_view>
#include <vector>

#include "narratoria/result.hpp"

namespace narratoria::command {

// Streams the result, and a newline, to standard output. False when its reader has gone away;
// throws Failed when it cannot be written for another reason.
bool write_result_to_standard_output(const Result& result);

// For people: which tools failed and why, and the end of what they wrote to standard error. Where
// the progress has told already which failed, only what it has not told.
std::vector<std::string> lines_about_failure(const Result& result, bool told_already);

// The last lines of a tool's standard error, each marked and printable.
std::vector<std::string> diagnostics_lines(std::string_view diagnostics, std::size_t at_most);

}  // namespace narratoria::command
