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

namespace narratoria::command {
namespace {

// Of the details of an error that refused a script.
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

std::vector<std::string> ScriptSession::tool_names() const {
    namespace fs = std::filesystem;
    std::vector<std::string> names;
    for (const std::string& folder : {tools_, story_.empty() ? story_ : story_ + "/tools"}) {
        std::error_code failure;
        for (auto each = fs::directory_iterator(folder, failure);
             !failure && each != fs::directory_iterator(); each.increment(failure)) {
            std::error_code unknown;
            if (!each->is_regular_file(unknown)) continue;
            if (access(each->path().c_str(), X_OK) != 0) continue;
            // As narratoria/script.h says.
            std::string name = each->path().stem().string();
            for (char& c : name) {
                const bool is_kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                                     (c >= '0' && c <= '9') || c == '_';
                if (!is_kept) c = '_';
            }
            names.push_back(std::move(name));
        }
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

}  // namespace narratoria::command
