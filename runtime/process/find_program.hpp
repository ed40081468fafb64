// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

namespace narratoria::process {

// The program that execvp would run, but in the PATH of `environment` (NAME=value), and in absolute
// folders only: an empty entry would be the current folder. A name with a slash is returned as it is.
// Empty when there is none; `reason` then says where it was looked for.
std::string find_program(const std::string& name, const std::vector<std::string>& environment,
                         std::string& reason);

}  // namespace narratoria::process
