// SPDX-License-Identifier: Apache-2.0
#pragma once
// The subcommands of `narratoria plugin`. Each adds itself to the group (command.hpp).

#include "command.hpp"

namespace narratoria::command {

void add_plugin_check(CLI::App& plugin, Action& action);

}  // namespace narratoria::command
