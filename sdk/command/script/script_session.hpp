// SPDX-License-Identifier: Apache-2.0
#pragma once
// The session in which `narratoria script` runs scripts, one after another.

#include <unistd.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arguments/group_options.hpp"
#include "io/call_trace.hpp"
#include "io/message.hpp"
#include "narratoria/engine.hpp"

namespace narratoria::command::script {

// A script error in the library's form, {"name","message","line","column","text"}, or empty.
using ScriptError = std::string;

// Parses a script without running it. `tree`, if not NULL, gets the syntax tree.
ScriptError parse_script(const std::string& source, std::string* tree = nullptr);

// Formats an error for people: name and message, then the source line and the caret. Printable.
std::vector<std::string> lines_of(const ScriptError& error);

// Writes and clears the printed lines of a script. After a signal, does not wait for the reader.
void print_lines(std::string& lines);

class ScriptSession {
public:
    // `groups` is copied. `tools` and `project` are folders; `project` may be empty. `trace`, if
    // not NULL, must outlive the session.
    ScriptSession(const std::optional<std::string>& story, const std::optional<std::string>& tools,
                  const std::string& project, const GroupOptions& groups,
                  const ScriptLimits& limits, CallTrace* trace);

    struct Outcome {
        bool has_run = false;      // false if the script was refused; `scope` is "{}" then
        std::string scope = "{}";  // the final variables; empty if not requested or too large
        ScriptError error;
        // What a tool that failed wrote to its standard error; printable.
        std::vector<std::string> diagnostics;
    };
    // Runs a script until it ends or a signal cancels it. `on_line` gets each printed line;
    // `after_batch` writes them. Warnings and the logs of tools go to standard error. `wants_scope`
    // requests Outcome::scope.
    Outcome run(const std::string& source, const std::string& scope, bool wants_scope,
                const std::function<void(std::string_view line)>& on_line,
                const std::function<void()>& after_batch);

    // The places at which the script fails whenever it gets there (Session::check_script).
    std::vector<ScriptError> check(const std::string& source, const std::string& scope);

    // The names of tools that a script of this session can CALL now, sorted.
    std::vector<std::string> tool_names();

    Engine& engine() { return *engine_; }

private:
    void write_notices();

    GroupOptions groups_;
    CallTrace* const trace_;
    std::string story_;
    std::string tools_;
    Style style_ = Style::for_descriptor(STDERR_FILENO);
    std::string notices_;  // buffered lines for standard error
    std::optional<Engine> engine_;
    std::optional<Session> session_;
};

}  // namespace narratoria::command::script
