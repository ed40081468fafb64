// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads and interprets the lines that the player types.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "input/line_editor.hpp"
#include "narratoria/engine.hpp"

namespace narratoria::command::story {

// Reads standard input line by line, without editing.
class PlainReader : public input::LineReader {
public:
    // `asks`: standard input and output are a terminal, and the prompt is shown.
    PlainReader(Engine& engine, bool asks) : engine_(engine), asks_(asks) {}

    Ending read(const std::string& prompt, std::string& line) override;
    // The terminal shows the typed part of the line above the text.
    void write_above(std::string_view text) override;

private:
    // True if a line was read.
    bool take(std::string& line);

    Engine& engine_;
    const bool asks_;
    std::string prompt_;
    std::string buffer_;
    bool ended_ = false;
};

bool is_blank(std::string_view text);
std::string_view trimmed(std::string_view text);

// The number, if the line consists only of a number.
std::optional<std::size_t> number_in(std::string_view line);

// Converts a line that the player typed to a prompt: a number selects a choice (spec 000 §4.4).
// Nothing if there is no choice with this number.
std::optional<std::string> choice_or_text(const std::string& line,
                                          const std::vector<std::string>& choices);
// "The choices are 1 to 3", for a number that is none of them.
std::string choice_range(const std::vector<std::string>& choices);

// Converts "a,b" to the JSON that nar_session_again takes; empty for a blank text. Throws Refused
// if it contains no toolId.
std::string tools_in(std::string_view list);

}  // namespace narratoria::command::story
