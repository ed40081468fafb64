// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes the result of a plan, and describes the failures of a plan.

#include <string>
#include <string_view>
#include <vector>

#include "narratoria/result.hpp"

namespace narratoria::command {

// Streams the result and a newline to standard output. Returns false if the reader has closed the
// pipe, and throws Failed for other errors.
bool write_result_to_standard_output(const Result& result);

// Describes, for people, the tools that failed, the reasons, and the last lines of their standard
// error. With `progress_shown`, the progress has shown the failures, so only standard error is
// included.
std::vector<std::string> lines_about_failure(const Result& result, bool progress_shown);

// The last lines of a tool's standard error, printable and marked with "|".
std::vector<std::string> diagnostics_lines(std::string_view diagnostics, std::size_t at_most);

}  // namespace narratoria::command
