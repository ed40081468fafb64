// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arguments/command_line.hpp"

namespace narratoria::command {

// Implements main() of the command and of the programs that some subcommands start. `declare` adds
// the subcommands. Runs the one that the command line names, reports exceptions as messages, and
// returns the exit status.
int run_program(int argument_count, char** arguments, void (*declare)(Command root));

}  // namespace narratoria::command
