// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads lines from the terminal, with editing, history and completion. Only line_editor.cpp uses
// libedit, which is an optional dependency of the build.

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
        Input,   // end of input: Ctrl-D, or the terminal was closed
    };

    virtual ~LineEditor() = default;

    // Reads a line, without the newline. Drives the engine while it waits.
    virtual Ending read(const std::string& prompt, std::string& line) = 0;

    // Adds the line to the history of ↑ and Ctrl-R.
    virtual void remember(const std::string& line) = 0;
};

// Opens the editor on standard input and output, which must be a terminal. Only one may exist.
// `complete` gets the line up to the cursor. NULL if this build has no line editor.
std::unique_ptr<LineEditor> open_line_editor(
    Engine& engine, std::function<Completion(std::string_view before)> complete);

}  // namespace narratoria::command::script
