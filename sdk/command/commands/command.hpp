// SPDX-License-Identifier: Apache-2.0
#pragma once
// The subcommands. Each adds itself and its options to the application; when the command line names
// it, `action` becomes what is to be done, and answers the exit code.

#include <CLI/CLI.hpp>
#include <functional>

namespace narratoria::command {

using Action = std::function<int()>;

void add_play(CLI::App& application, Action& action);
void add_serve(CLI::App& application, Action& action);
void add_run(CLI::App& application, Action& action);
void add_tool_run(CLI::App& tool, Action& action);
void add_tool_check(CLI::App& tool, Action& action);
void add_validate(CLI::App& application, Action& action);
// The group, with what plugin_command.hpp names.
void add_plugin(CLI::App& application, Action& action);

}  // namespace narratoria::command
