// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads and interprets the lines that the player types.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "narratoria/engine.hpp"

namespace narratoria::command::story {

// Reads standard input line by line. While it waits, it checks for signals and drives the engine,
// so that timers and descriptors of plugins do not wait for the player.
class PromptReader {
public:
    explicit PromptReader(Engine& engine) : engine_(engine) {}

    // Nothing at the end of the input, or after a signal.
    std::optional<std::string> next();

private:
    Engine& engine_;
    std::string buffer_;
    bool ended_ = false;
};

bool is_blank(std::string_view text);
std::string_view trimmed(std::string_view text);

// The number, if the line consists only of a number.
std::optional<std::size_t> number_in(std::string_view line);

// Converts "a,b" to the JSON that nar_session_again takes; empty for a blank text. Throws Refused
// if it contains no toolId.
std::string tools_in(std::string_view list);

}  // namespace narratoria::command::story
