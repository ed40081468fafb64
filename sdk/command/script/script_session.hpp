// SPDX-License-Identifier: Apache-2.0
#pragma once
// A session of the library in which `narratoria script` runs scripts, one after the other.

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

// The error of a script as the library gives it: {"name","message","line","column","text"}; empty if
// there is none.
using ScriptError = std::string;

// Reads a script without running it; `tree`, if not NULL, becomes its syntax tree.
ScriptError parse_script(const std::string& source, std::string* tree = nullptr);

// The error for people: name and message, then the line of the source and its caret. Printable.
std::vector<std::string> lines_of(const ScriptError& error);

// Writes what a script printed, and empties it. After a signal nothing waits for a reader.
void print_lines(std::string& lines);

class ScriptSession {
public:
    // `groups` is copied, `tools` and `project` are folders; an empty `project` is none. `trace`, if not
    // NULL, must outlive the session.
    ScriptSession(const std::optional<std::string>& story, const std::optional<std::string>& tools,
                  const std::string& project, const GroupOptions& groups,
                  const ScriptLimits& limits, CallTrace* trace);

    struct Outcome {
        bool has_run = false;      // false: refused, and `scope` has no variable
        std::string scope = "{}";  // empty: not wanted, or too large
        ScriptError error;
    };
    // Runs a script until it ended or a signal cancelled it. `on_line` gets each printed line;
    // `after_batch` is the moment to write them. Warnings and the logs of its tools are told on
    // standard error. `wants_scope`: of the outcome.
    Outcome run(const std::string& source, const std::string& scope, bool wants_scope,
                const std::function<void(std::string_view line)>& on_line,
                const std::function<void()>& after_batch);

    // What a script of this session can CALL now, sorted.
    std::vector<std::string> tool_names();

    Engine& engine() { return *engine_; }

private:
    void tell_notices();

    GroupOptions groups_;
    CallTrace* const trace_;
    std::string story_;
    std::string tools_;
    Style style_ = Style::for_descriptor(STDERR_FILENO);
    std::string notices_;  // lines that are still to be told
    std::optional<Engine> engine_;
    std::optional<Session> session_;
};

}  // namespace narratoria::command::script
