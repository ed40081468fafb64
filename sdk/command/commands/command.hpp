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
void add_replay(Command application);
// The group, with what plugin_command.hpp names.
void add_plugin(Command application);

// A prompt of a session that a store keeps, to be played once more; without `turn`, the last one.
struct KeptPrompt {
    std::string store;
    std::string session;
    std::optional<std::uint32_t> turn;
};
// From the end of the turn before it. With `tools` ("a,b"), only these run again. What play() does
// otherwise.
int play_again(const KeptPrompt& prompt, const std::string& tools);
// One that was interrupted. `flags`: as of nar_session_resume.
int play_on(const KeptPrompt& prompt, std::uint32_t flags);

// `narratoria plugin check` is a program of its own, with the same arguments: does not return then.
void start_plugin_check_if_asked(int argument_count, char** arguments);

namespace tool_check {
void add_tool_check(Command tool);
}

}  // namespace narratoria::command
