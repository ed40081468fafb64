// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads the lines that the user types. On a terminal with editing, history and completion, if the
// build has libedit, which is optional; only line_editor.cpp uses it.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "narratoria/engine.hpp"

namespace narratoria::command::input {

class LineReader {
public:
    enum class Ending {
        Line,
        Signal,  // interruption::received() says which
        Input,   // end of input: Ctrl-D, or the terminal was closed
    };

    virtual ~LineReader() = default;

    // Reads a line, without the newline. Drives the engine while it waits. After a signal, `line`
    // is the input that was discarded. On a terminal, the cursor is at the start of a line then.
    virtual Ending read(const std::string& prompt, std::string& line) = 0;

    // Writes text above the line that the user is typing, which stays. The text ends with a newline.
    // Call it only while read() drives the engine.
    virtual void write_above(std::string_view text) = 0;

    // Adds the line to the history.
    virtual void remember(const std::string&) {}
};

struct Completion {
    std::size_t typed = 0;           // bytes before the cursor that the candidates begin with
    std::vector<std::string> words;  // the candidates
};

// Opens the editor on standard input and output, which must be a terminal. Only one may exist.
// ↑ and Ctrl-R search the history, which is kept in the HistoryFile `history`. `complete` gets the
// line up to the cursor. NULL if this build has no line editor.
std::unique_ptr<LineReader> open_line_editor(
    Engine& engine, const std::string& history,
    std::function<Completion(std::string_view before)> complete);

}  // namespace narratoria::command::input
