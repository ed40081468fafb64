// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arguments/command_line.hpp"

namespace narratoria::command {

// main() of the command, and of the programs that it starts for some of its subcommands. Declares the
// subcommands, does what the command line asks for, and shows an exception as a message. Returns the
// exit status.
int run_program(int argument_count, char** arguments, void (*declare)(Command root));

}  // namespace narratoria::command
