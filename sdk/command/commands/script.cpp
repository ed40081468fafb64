// SPDX-License-Identifier: Apache-2.0
// narratoria script: runs a Nuwa script.

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arguments/group_options.hpp"
#include "arguments/tool_path.hpp"
#include "commands/command.hpp"
#include "commands/drive.hpp"
#include "display.hpp"
#include "io/file.hpp"
#include "io/interruption.hpp"
#include "io/message.hpp"
#include "io/outcome.hpp"
#include "json.hpp"
#include "narratoria/engine.hpp"
#include "narratoria/script.h"

namespace narratoria::command {
namespace {

struct ScriptOptions {
    std::string file;
    std::optional<std::string> scope;
    std::optional<std::string> tools;
    std::optional<std::string> story;
    bool json = false;
    bool check = false;
    bool tree = false;
    GroupOptions groups;
};

// What is known at the end of a run.
struct Outcome {
    std::string output;  // the printed lines, as elements of a JSON array
    std::string scope = "{}";
    std::string error;  // {"name",…}, or empty
};

std::string as_json(const Outcome& outcome) {
    std::string error = "null";
    if (!outcome.error.empty()) {
        const json::Document read = json::read(outcome.error);
        error = fmt::format(R"({{"name":{},"message":{},"line":{},"column":{}}})",
                            json::quoted(json::text(read, "name")),
                            json::quoted(json::text(read, "message")), json::count(read, "line"),
                            json::count(read, "column"));
    }
    return fmt::format(R"({{"output":[{}],"scope":{},"error":{}}})", outcome.output, outcome.scope,
                       error);
}

// The place in the form of compilers, so that editors find it; then the line with its caret.
void complain_of(const std::string& error, const std::string& file) {
    const json::Document read = json::read(error);
    std::string place = shown_path(file);
    if (const auto line = json::count(read, "line")) {
        place += fmt::format(":{}:{}", line, json::count(read, "column"));
    }
    std::string_view text = json::text(read, "text");
    const std::size_t first = std::min(text.find('\n'), text.size());
    complain(fmt::format("{}: {}", place, printable(text.substr(0, first))));
    std::vector<std::string> lines;
    // Each line ends with a newline, the last one too.
    for (text.remove_prefix(first); text.size() > 1;) {
        text.remove_prefix(1);
        const std::size_t end = std::min(text.find('\n'), text.size());
        lines.push_back(printable(text.substr(0, end)));
        text.remove_prefix(end);
    }
    complain_lines(lines);
}

int tell(const Outcome& outcome, const ScriptOptions& options) {
    if (options.json) {
        print_output(as_json(outcome) + "\n", "the result");
    } else if (!outcome.error.empty()) {
        complain_of(outcome.error, options.file);
    }
    return outcome.error.empty() ? kExitSuccess : kExitFailure;
}

// Of the details of an error that refused a script.
std::string error_in(const Error& error) {
    const json::Document details = json::read(error.details());
    const json::Value* const found = json::member(details, "error");
    return found == nullptr ? error.details() : json::line(*found);
}

int parse_only(const std::string& source, const ScriptOptions& options) {
    nar_text* tree = nullptr;
    try {
        detail::Check check;
        check(nar_script_parse(detail::to_c(source), options.tree ? &tree : nullptr,
                               check.details()));
    } catch (const Error& error) {
        if (error.status() != NAR_INVALID_DOCUMENT) throw;
        return tell({.output = {}, .scope = "{}", .error = error_in(error)}, options);
    }
    if (tree != nullptr) print_output(std::string(Text(tree).view()) + "\n", "the syntax tree");
    else if (options.json) print_output(as_json({}) + "\n", "the result");
    return kExitSuccess;
}

int run_script(const ScriptOptions& options) {
    const std::string source = read_document(options.file, "script");
    if (options.check || options.tree) return parse_only(source, options);
    const std::string scope = options.scope ? read_tool_input(options.scope) : std::string();
    require_standard_output("what the script prints is written to it");

    EngineOptions engine_options;
    engine_options.output_mode = NAR_OUTPUT_KEEP;
    options.groups.apply_to(engine_options);
    Engine engine(engine_options);
    SessionOptions session_options;
    if (options.story) session_options.story = *options.story;
    Session session(engine, session_options);
    Outcome outcome;
    std::string lines;
    bool has_ended = false;
    const auto on_printed = [&](std::string_view line) {
        if (!options.json) {
            (lines += line) += '\n';
            return;
        }
        if (!outcome.output.empty()) outcome.output += ',';
        outcome.output += json::quoted(line);
    };
    const auto on_ended = [&](const ScriptEnd& end) {
        has_ended = true;
        outcome.scope = end.scope;
        outcome.error = end.error;
    };
    const std::string tools = options.tools ? absolute_path(*options.tools) : std::string();
    try {
        session.run_script(source, scope, tools, on_printed, on_ended);
    } catch (const Error& error) {
        if (error.status() != NAR_INVALID_DOCUMENT) throw;
        return tell({.output = {}, .scope = "{}", .error = error_in(error)}, options);
    }
    {
        const interruption::CancelsSession cancels(session.raw());
        drive_until_idle(engine, [&] {
            if (!lines.empty()) print_output(std::exchange(lines, {}), "what the script prints");
        });
    }
    if (!has_ended) throw Failed("the engine became idle without a result; please report this");
    if (interruption::received() != 0) return kExitSignal + interruption::received();
    return tell(outcome, options);
}

}  // namespace

void add_script(Command application) {
    Command command = application.subcommand("script", "Run a Nuwa script");
    auto options = std::make_shared<ScriptOptions>();
    command.option("FILE", options->file, "The script, or - for standard input").required();
    command
        .option("--scope", options->scope,
                "Variables that the script begins with: a JSON object, or @FILE")
        .type_name("JSON");
    command
        .option("--tools", options->tools,
                "A folder whose executable files the script can CALL by their names")
        .type_name("DIR");
    command.option("--story", options->story, "Run it in this story, with its tools and plugins")
        .type_name("DIR");
    command.flag("--json", options->json,
                 "Print one object instead: {\"output\":[…],\"scope\":{…},\"error\":…}");
    command.flag("--check", options->check, "Only say whether the script is valid");
    command.flag("--ast", options->tree, "Only print the syntax tree, as JSON");
    options->groups.add_to(command);
    command.footer(
        "Exit status: 0 the script ran to its end, 1 it is not valid or failed, 2 it was not run,\n"
        "130 after Ctrl-C.\n"
        "Example:\n"
        "  echo 'PRINT(FORMAT(\"Hello {name}\", {name: who}))' |\n"
        "      narratoria script - --scope '{\"who\": \"Ada\"}'");
    command.action([options] { return run_script(*options); });
}

}  // namespace narratoria::command
