// SPDX-License-Identifier: Apache-2.0
#pragma once
// The subcommands. Each adds itself, its options and its action to the application.

#include <cstdint>
#include <optional>
#include <string>

#include "arguments/command_line.hpp"

namespace narratoria::command {

void add_play(Command application);
void add_serve(Command application);
void add_run(Command application);
void add_script(Command application);
void add_tool_run(Command tool);
void add_tool_list(Command tool);
void add_validate(Command application);
void add_doctor(Command application);
void add_session(Command application);
// The group, with what plugin_command.hpp names.
void add_plugin(Command application);

// Plays a prompt of a session that a store keeps once more, from the end of the turn before it; without
// `turn`, the last one. What play() does otherwise.
int play_again(const std::string& store, const std::string& session,
               std::optional<std::uint32_t> turn);

// `narratoria plugin check` is a program of its own, with the same arguments: does not return then.
void start_plugin_check_if_asked(int argument_count, char** arguments);

namespace tool_check {
void add_tool_check(Command tool);
}

}  // namespace narratoria::command
