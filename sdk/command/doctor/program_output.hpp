// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace narratoria::command::doctor {

// The file of a program: a path, or a name that is looked for in PATH. Empty if it is not found.
std::string find_program(const std::string& name);

// What a program writes to standard output, without the last newline; its end of standard error if it
// failed. Ended after some seconds.
struct ProgramOutput {
    bool ok = false;
    std::string text;
};
ProgramOutput output_of(std::vector<std::string> arguments);

}  // namespace narratoria::command::doctor
