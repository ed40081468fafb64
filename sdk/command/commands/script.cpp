// SPDX-License-Identifier: Apache-2.0
// narratoria script: runs a Nuwa script, or input from the terminal.

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "arguments/group_options.hpp"
#include "arguments/json_object.hpp"
#include "commands/command.hpp"
#include "display.hpp"
#include "io/call_trace.hpp"
#include "io/file.hpp"
#include "io/interruption.hpp"
#include "io/message.hpp"
#include "io/output_check.hpp"
#include "json.hpp"
#include "script/repl.hpp"
#include "script/script_session.hpp"

namespace narratoria::command {
namespace {

struct ScriptOptions {
    std::string file;
    std::optional<std::string> scope;
    std::optional<std::string> tools;
    std::optional<std::string> story;
    std::string project;
    std::optional<std::string> trace;
    bool json = false;
    bool check = false;
    bool tree = false;
    GroupOptions groups;
    ScriptLimits limits;
};

std::string as_json(const std::string& output, const script::ScriptSession::Outcome& outcome) {
    std::string error = "null";
    if (!outcome.error.empty()) {
        const json::Document read = json::read(outcome.error);
        error = fmt::format(R"({{"name":{},"message":{},"line":{},"column":{}}})",
                            json::quoted(json::text(read, "name")),
                            json::quoted(json::text(read, "message")), json::count(read, "line"),
                            json::count(read, "column"));
    }
    return fmt::format(R"({{"output":[{}],"scope":{},"error":{}}})", output,
                       outcome.scope.empty() ? "null" : outcome.scope, error);
}

// Prints the place as compilers do, then the line with its caret.
void complain_of(const script::ScriptError& error, const std::string& file) {
    const json::Document read = json::read(error);
    std::string place = display_path(file);
    if (const auto line = json::count(read, "line")) {
        place += fmt::format(":{}:{}", line, json::count(read, "column"));
    }
    std::vector<std::string> lines = script::lines_of(error);
    if (lines.empty()) return;
    complain(fmt::format("{}: {}", place, lines.front()));
    lines.erase(lines.begin());
    complain_lines(lines);
}

// Prints exactly one line, always with a place, for editors.
void complain_to_editor(const script::ScriptError& error, const std::string& file) {
    constexpr std::string_view kHint = "  hint: ";
    const json::Document read = json::read(error);
    const std::vector<std::string> lines = script::lines_of(error);
    std::string message = printable(json::text(read, "message"));
    if (!lines.empty() && lines.back().starts_with(kHint)) {
        if (message.ends_with('.')) message.pop_back();
        message += "; " + lines.back().substr(kHint.size());
    }
    complain_lines({fmt::format("{}:{}:{}: error: {}: {}", display_path(file),
                                std::max<std::uint64_t>(json::count(read, "line"), 1),
                                std::max<std::uint64_t>(json::count(read, "column"), 1),
                                printable(json::text(read, "name")), message)});
}

int print_tree(const std::string& source, const ScriptOptions& options) {
    script::ScriptSession::Outcome outcome;
    std::string tree;
    outcome.error = script::parse_script(source, &tree);
    if (outcome.error.empty()) {
        print_output(tree + "\n", "the syntax tree");
        return kExitSuccess;
    }
    if (options.json) print_output(as_json({}, outcome) + "\n", "the result");
    else complain_of(outcome.error, options.file);
    return kExitRefused;
}

int check_only(const std::string& source, const ScriptOptions& options) {
    script::ScriptSession session(options.story, options.tools, options.project, options.groups,
                                  options.limits, nullptr);
    const std::string scope =
        options.scope ? read_object(kScriptScope, options.scope) : std::string();
    std::vector<script::ScriptError> errors = session.check(source, scope);
    // Without one of these, the tools of the script are unknown.
    if (!options.tools && !options.story && options.project.empty()) {
        std::erase_if(errors, [](const script::ScriptError& error) {
            return json::text(json::read(error), "name") == "ToolNotFoundError";
        });
    }
    if (options.json) {
        script::ScriptSession::Outcome outcome;
        if (!errors.empty()) outcome.error = errors.front();
        print_output(as_json({}, outcome) + "\n", "the result");
    } else {
        for (const script::ScriptError& error : errors) complain_to_editor(error, options.file);
    }
    return errors.empty() ? kExitSuccess : kExitFailure;
}

// NULL without --trace.
std::unique_ptr<CallTrace> trace_of(const ScriptOptions& options) {
    if (!options.trace) return nullptr;
    if (options.project.empty() && !options.story) {
        throw Refused("--trace: works only with a project's tools; give its folder with --project");
    }
    OutputCheck check;
    if (!options.file.empty()) check.add_input(options.file, "FILE");
    if (options.scope) check.add_input(file_of_object(*options.scope), "--scope");
    check.add_folder(options.project);
    check.add_folder(options.story.value_or(""));
    auto trace = std::make_unique<CallTrace>(*options.trace, check);
    check.add_standard_output();
    return trace;
}

int run_file(const ScriptOptions& options) {
    const std::string source = read_document(options.file, "script");
    if (options.tree) return print_tree(source, options);
    if (options.check) return check_only(source, options);
    const std::string scope = read_object(kScriptScope, options.scope);
    require_standard_output("what the script prints");

    const std::unique_ptr<CallTrace> trace = trace_of(options);
    script::ScriptSession session(options.story, options.tools, options.project, options.groups,
                                  options.limits, trace.get());
    const bool is_terminal = isatty(STDOUT_FILENO) != 0;
    std::string lines;
    const auto on_line = [&](std::string_view line) {
        if (options.json) (lines += lines.empty() ? "" : ",") += json::quoted(line);
        else (lines += is_terminal ? printable_lines(line) : std::string(line)) += '\n';
    };
    const script::ScriptSession::Outcome outcome =
        session.run(source, scope, options.json, on_line, [&] {
            if (!options.json) script::print_lines(lines);
        });
    const bool was_interrupted = interruption::received() != 0;
    if (options.json) {
        const std::string result = as_json(lines, outcome) + "\n";
        if (was_interrupted) print_output(result, "the result");
        else print_unless_interrupted(result, "the result");
    } else if (!outcome.error.empty() && !was_interrupted) {
        complain_of(outcome.error, options.file);
        complain_lines(outcome.diagnostics);
    }
    if (interruption::received() != 0) return kExitSignal + interruption::received();
    if (!outcome.has_run) return kExitRefused;
    return outcome.error.empty() && !(trace && trace->failed()) ? kExitSuccess : kExitFailure;
}

void require_tools_folder(const std::optional<std::string>& folder) {
    if (!folder) return;
    std::error_code failure;
    const std::filesystem::directory_iterator entries(*folder, failure);
    if (!failure) return;
    throw Refused(
        fmt::format("--tools {}: {}; give a folder with the executable files that the script calls",
                    folder->empty() ? "''" : display_path(*folder), reason(failure.value())));
}

int run_script(ScriptOptions options) {
    if (options.trace && (options.check || options.tree)) {
        throw Refused(
            fmt::format("--trace: {} does not run the script, so there are no calls; give one of "
                        "the two",
                        options.check ? "--check" : "--ast"));
    }
    require_tools_folder(options.tools);
    if (!options.file.empty()) return run_file(options);
    if (isatty(STDIN_FILENO) == 0) {
        options.file = "-";
        return run_file(options);
    }
    if (options.json || options.check || options.tree || isatty(STDOUT_FILENO) == 0) {
        throw Refused("no script is given; give the script's FILE, or - for standard input");
    }
    const std::string scope = read_object(kScriptScope, options.scope);
    const std::unique_ptr<CallTrace> trace = trace_of(options);
    script::ScriptSession session(options.story, options.tools, options.project, options.groups,
                                  options.limits, trace.get());
    return script::run_repl(session, scope);
}

}  // namespace

void add_script(Command application) {
    Command command = application.subcommand("script", "Run a Nuwa script");
    auto options = std::make_shared<ScriptOptions>();
    command
        .option("FILE", options->file,
                "The script, or - for standard input (default: an interactive session on the "
                "terminal)")
        .not_empty();
    command
        .option("--scope", options->scope,
                "Initial variables of the script: a JSON object, or @FILE")
        .type_name("JSON");
    command
        .option("--tools", options->tools,
                "A folder of executable files that the script can CALL by name")
        .type_name("DIR");
    command.option("--story", options->story, "Run in this story, with its tools and plugins")
        .type_name("DIR");
    command
        .option("--project", options->project,
                "The script can CALL the tools of this Namel3ss project by their names")
        .type_name("DIR")
        .not_empty();
    command
        .option("--trace", options->trace,
                "Write the trace entries of a project's tools to FILE, one per line")
        .type_name("FILE");
    command.flag("--json", options->json,
                 "Print one object instead: {\"output\":[…],\"scope\":{…},\"error\":…}");
    command.flag("--check", options->check,
                 "Only check the script: a line FILE:LINE:COLUMN: error: MESSAGE for each fault");
    command.flag("--ast", options->tree, "Only print the syntax tree, as JSON");
    options->limits.add_to(command);
    options->groups.add_to(command);
    command.footer(
        "Exit status: 0 the script ran to its end, 1 it failed (or --check found a fault), 2 it "
        "was\n"
        "not run, for example because it is not valid, 130 after Ctrl-C. --json prints the object\n"
        "in all of these cases, unless an option is refused or the script cannot be read.\n"
        "Example:\n"
        "  echo 'PRINT(FORMAT(\"Hello {name}\", {name: who}))' |\n"
        "      narratoria script - --scope '{\"who\": \"Ada\"}'");
    command.action([options] { return run_script(*options); });
}

}  // namespace narratoria::command
