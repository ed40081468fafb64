// SPDX-License-Identifier: Apache-2.0
#pragma once
// Commands that the player types instead of a prompt: /undo, /again, /help, …

#include <string>
#include <string_view>
#include <vector>

#include "story/game.hpp"

namespace narratoria::command::story {

// All commands with their slash, sorted.
std::vector<std::string> slash_command_names();

// Executes a line that begins with a slash. Throws Error.
void execute_slash_command(Game& game, std::string_view line);

}  // namespace narratoria::command::story
