// SPDX-License-Identifier: Apache-2.0
#include "script/script_session.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "commands/drive.hpp"
#include "display.hpp"
#include "io/file.hpp"
#include "io/interruption.hpp"
#include "io/message.hpp"
#include "json.hpp"
#include "narratoria/script.h"
#include "narratoria/tools.hpp"

namespace narratoria::command {
namespace {

// Of the details of an error that refused a script.
ScriptError error_in(const Error& error) {
    const json::Document details = json::read(error.details());
    const json::Value* const found = json::member(details, "error");
    return found == nullptr ? error.details() : json::line(*found);
}

bool is_identifier(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// As narratoria/script.h says.
std::string script_name_of(std::string_view file) {
    std::string name(file.substr(0, file.rfind('.')));
    std::replace_if(
        name.begin(), name.end(), [](char c) { return !is_identifier(c); }, '_');
    return name;
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
    // Each line ends with a newline, the last one too.
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string line;
        // The line of the caret has its tabs where the source has them.
        for (const char c : text.substr(0, end)) line += c == '\t' ? "    " : std::string(1, c);
        lines.push_back(printable(line));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

ScriptSession::ScriptSession(const std::optional<std::string>& story,
                             const std::optional<std::string>& tools, const GroupOptions& groups)
    : groups_(groups),
      story_(story.value_or("")),
      tools_(tools ? absolute_path(*tools) : std::string()) {
    EngineOptions engine_options;
    engine_options.output_mode = NAR_OUTPUT_KEEP;
    groups_.apply_to(engine_options);
    engine_.emplace(engine_options);
    SessionOptions session_options;
    session_options.story = story_;
    session_.emplace(*engine_, session_options);
}

ScriptSession::Outcome ScriptSession::run(const std::string& source, const std::string& scope,
                                          const std::function<void(std::string_view line)>& on_line,
                                          const std::function<void()>& after_batch) {
    Outcome outcome;
    try {
        session_->run_script(source, scope, tools_, on_line, [&](const ScriptEnd& end) {
            outcome = {
                .has_run = true, .scope = std::string(end.scope), .error = std::string(end.error)};
        });
    } catch (const Error& error) {
        if (error.status() != NAR_INVALID_DOCUMENT) throw;
        outcome.error = error_in(error);
        return outcome;
    }
    const interruption::CancelsSession cancels(session_->raw());
    drive_until_idle(*engine_, after_batch);
    if (!outcome.has_run) {
        throw Failed("the engine became idle without a result; please report this");
    }
    return outcome;
}

std::vector<std::string> ScriptSession::tool_names() {
    std::vector<std::string> names;
    const json::Document tools = json::read(session_->tools().list().view());
    for (const json::Value& tool : tools.GetArray()) {
        const std::string_view name = json::text(tool, "name");
        const json::Value* const origin = json::member(tool, "origin");
        if (origin != nullptr && json::text(*origin, "kind") == "file") {
            names.push_back(script_name_of(name));
        } else if (std::all_of(name.begin(), name.end(), is_identifier)) {
            names.emplace_back(name);
        }
    }
    namespace fs = std::filesystem;
    std::error_code failure;
    for (auto each = fs::directory_iterator(tools_, failure);
         !failure && each != fs::directory_iterator(); each.increment(failure)) {
        std::error_code unknown;
        if (each->is_regular_file(unknown) && access(each->path().c_str(), X_OK) == 0) {
            names.push_back(script_name_of(each->path().filename().string()));
        }
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

}  // namespace narratoria::command
