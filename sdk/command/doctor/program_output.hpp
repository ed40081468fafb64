// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace narratoria::command::doctor {

// The file of a program, which is a path or a name in PATH. Empty if it is not found.
std::string find_program(const std::string& name);

// Runs a program and returns its output and standard error, without the last newlines. Kills the
// program after a timeout.
struct ProgramOutput {
    bool ok = false;
    std::string text;
};
ProgramOutput output_of(std::vector<std::string> arguments);

}  // namespace narratoria::command::doctor
