// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads lines from the terminal, with editing, history and completion. The library behind it (libedit)
// is optional when the command is built, and used in line_editor.cpp only.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "narratoria/engine.hpp"
#include "script/completion.hpp"

namespace narratoria::command::script {

class LineEditor {
public:
    enum class Ending {
        Line,
        Signal,  // interruption::received() says which
        Input,   // Ctrl-D, or the terminal is gone
    };

    virtual ~LineEditor() = default;

    // While it waits, the engine goes on. Without the newline.
    virtual Ending read(const std::string& prompt, std::string& line) = 0;

    // Lets ↑ and Ctrl-R find the line.
    virtual void remember(const std::string& line) = 0;
};

// On standard input and output, which are a terminal; one at a time. `complete` gets the line in front
// of the cursor. NULL: this build has no line editor.
std::unique_ptr<LineEditor> open_line_editor(
    Engine& engine, std::function<Completion(std::string_view before)> complete);

}  // namespace narratoria::command::script
