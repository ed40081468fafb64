// SPDX-License-Identifier: Apache-2.0
#pragma once
// The subcommands. Each function adds a command, its options and its action to the application.

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
void add_test(Command application);
void add_doctor(Command application);
void add_narrator(Command application);
void add_session(Command application);
void add_replay(Command application);
// Adds the group `story`.
void add_story(Command application);
// Adds the group `plugin` with the subcommands of plugin_command.hpp.
void add_plugin(Command application);

// A stored prompt to play again. Without `turn`, the last one.
struct StoredPrompt {
    std::string store;
    std::string session;
    std::optional<std::uint64_t> turn;
};
// Plays the prompt again from the end of the preceding turn; otherwise behaves as play(). With
// `tools` ("a,b"), only these tools run again.
int play_again(const StoredPrompt& prompt, const std::string& tools);
// Resumes an interrupted prompt. `flags` are those of nar_session_resume.
int resume_prompt(const StoredPrompt& prompt, std::uint32_t flags);

// For `narratoria plugin check`: replaces this process by narratoria-plugin-check, with the same
// arguments, and does not return. Otherwise does nothing.
void start_plugin_check_if_asked(int argument_count, char** arguments);

namespace tool_check {
void add_tool_check(Command tool);
}

}  // namespace narratoria::command
