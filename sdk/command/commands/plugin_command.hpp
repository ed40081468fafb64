// SPDX-License-Identifier: Apache-2.0
#pragma once
// The subcommands of `narratoria plugin`. Each stands in a file of its own, named after it, and is
// added to the group in plugin.cpp; for the rest it is as those in command.hpp.

#include "commands/command.hpp"

namespace narratoria::command {

inline constexpr const char* kPluginCheckDescription = "Test a plugin against the rules of the ABI";

void add_plugin_list(Command plugin);
void add_plugin_new(Command plugin);

}  // namespace narratoria::command
