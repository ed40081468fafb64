// SPDX-License-Identifier: Apache-2.0
#include "script/script_session.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "display.hpp"
#include "engine/drive.hpp"
#include "io/faults.hpp"
#include "io/file.hpp"
#include "io/interruption.hpp"
#include "io/message.hpp"
#include "io/notice.hpp"
#include "io/outcome.hpp"
#include "json.hpp"
#include "narratoria/script.h"
#include "story/folder.hpp"

namespace narratoria::command::script {
namespace {

// Extracts the script error from the details of a refusal.
ScriptError error_in(const Error& error) {
    const json::Document details = json::read(error.details());
    const json::Value* const found = json::member(details, "error");
    return found == nullptr ? error.details() : json::line(*found);
}

}  // namespace

ScriptError parse_script(const std::string& source, std::string* tree) {
    nar_text* text = nullptr;
    try {
        detail::Check check;
        check(nar_script_parse(detail::to_c(source), tree != nullptr ? &text : nullptr,
                               check.details()));
    } catch (const Error& error) {
        if (error.status() != NAR_INVALID_DOCUMENT) throw;
        return error_in(error);
    }
    if (text != nullptr) *tree = Text(text).view();
    return {};
}

std::vector<std::string> lines_of(const ScriptError& error) {
    const json::Document read = json::read(error);
    std::string_view text = json::text(read, "text");
    std::vector<std::string> lines;
    // Every line ends with a newline, including the last.
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string line;
        // Expand tabs. The caret line has tabs at the same places as the source, so it stays
        // aligned.
        for (const char c : text.substr(0, end)) line += c == '\t' ? "    " : std::string(1, c);
        lines.push_back(printable(line));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

void print_lines(std::string& lines) {
    if (!lines.empty())
        print_unless_interrupted(std::exchange(lines, {}), "what the script prints");
}

ScriptSession::ScriptSession(const std::optional<std::string>& story,
                             const std::optional<std::string>& tools, const std::string& project,
                             const GroupOptions& groups, const ScriptLimits& limits,
                             CallTrace* trace)
    : groups_(groups),
      trace_(trace),
      story_(story ? story::find_story(*story, "script") : std::string()),
      tools_(tools ? absolute_path(*tools) : std::string()) {
    EngineOptions engine_options;
    engine_options.output_mode = NAR_OUTPUT_KEEP;
    engine_options.log = [](const LogLine& line) {
        // A log line with a code is also an event record, which is shown as such.
        if (line.level >= NAR_LOG_WARN && line.code.empty()) {
            complain(printable(line.message));
        }
    };
    groups_.apply_to(engine_options);
    limits.apply_to(engine_options);
    engine_.emplace(engine_options);
    SessionOptions session_options;
    session_options.story = story_;
    session_options.project = project;
    try {
        session_.emplace(*engine_, session_options);
    } catch (const Error& error) {
        refuse_session(error, story_, project, "nothing was run");
    }
    session_->attach(
        [this](const Event& event) {
            if (const std::string line = notice_of(event, style_); !line.empty()) {
                (notices_ += line) += '\n';
            }
        },
        notice_kinds());
    if (trace_ != nullptr) {
        trace_->start();
        session_->attach([this](const Event& event) { trace_->record(event); },
                         CallTrace::wanted_kinds());
    }
}

ScriptSession::Outcome ScriptSession::run(const std::string& source, const std::string& scope,
                                          bool wants_scope,
                                          const std::function<void(std::string_view line)>& on_line,
                                          const std::function<void()>& after_batch) {
    Outcome outcome;
    try {
        session_->run_script(
            source, scope, tools_, on_line,
            [&](const ScriptEnd& end) {
                outcome = {.has_run = true,
                           .scope = std::string(end.scope),
                           .error = std::string(end.error),
                           .diagnostics = {}};
                const bool is_of_tool =
                    json::text(json::read(outcome.error), "name") == "ToolExecutionError";
                if (is_of_tool && end.result)
                    outcome.diagnostics = lines_about_failure(end.result, true);
            },
            wants_scope ? 0 : NAR_SCRIPT_WITHOUT_SCOPE);
    } catch (const Error& error) {
        if (error.status() != NAR_INVALID_DOCUMENT) throw;
        outcome.error = error_in(error);
        const json::Document read = json::read(outcome.error);
        if (json::text(read, "name") == "ScopeError") {
            throw Refused(fmt::format("--scope: {}", printable(json::text(read, "message"))));
        }
        return outcome;
    }
    const interruption::CancelSessionOnSignal cancels(session_->raw());
    drive_until_idle(*engine_, [&] {
        after_batch();
        write_notices();
        if (trace_ != nullptr) trace_->flush();
    });
    if (trace_ != nullptr) trace_->flush();
    if (!outcome.has_run) {
        throw Failed("the engine became idle without a result; please report this");
    }
    return outcome;
}

std::vector<ScriptError> ScriptSession::check(const std::string& source, const std::string& scope) {
    std::vector<ScriptError> errors;
    const json::Document read = json::read(session_->check_script(source, scope, tools_).view());
    for (const json::Value& error : read.GetArray()) errors.push_back(json::line(error));
    return errors;
}

std::vector<std::string> ScriptSession::tool_names() {
    std::vector<std::string> names;
    const json::Document read = json::read(session_->script_names(tools_).view());
    for (const json::Value& name : read.GetArray()) {
        names.emplace_back(name.GetString(), name.GetStringLength());
    }
    return names;
}

void ScriptSession::write_notices() {
    if (!notices_.empty()) write_all(STDERR_FILENO, std::exchange(notices_, {}));
}

}  // namespace narratoria::command::script
