// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

namespace narratoria::process {

// True if the path leads, possibly through links, to a regular file that this process may execute.
bool is_program(const std::string& path);

// Returns the reason if is_program() is false: "Permission denied". Empty otherwise.
std::string why_no_program(const std::string& path);

// Finds the program that execvp would run, with the PATH in `environment` (NAME=value). Searches
// absolute folders only: an empty or relative entry would mean the current folder. Returns a name
// with a slash unchanged. Returns "" if nothing is found; `reason` then names the folders searched.
std::string find_program(const std::string& name, const std::vector<std::string>& environment,
                         std::string& reason);

}  // namespace narratoria::process
