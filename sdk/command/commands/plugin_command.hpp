// SPDX-License-Identifier: Apache-2.0
#pragma once
// The subcommands of `narratoria plugin`. Each is in a file named after it; plugin.cpp adds it to
// the group. Otherwise as in command.hpp.

#include "commands/command.hpp"

namespace narratoria::command {

inline constexpr const char* kPluginCheckDescription = "Test a plugin against the rules of the ABI";

void add_plugin_list(Command plugin);
void add_plugin_new(Command plugin);

}  // namespace narratoria::command
