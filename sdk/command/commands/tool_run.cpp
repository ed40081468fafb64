// SPDX-License-Identifier: Apache-2.0
// narratoria tool run: runs a tool, as a plan with one tool and one attempt.

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arguments/group_options.hpp"
#include "arguments/json_object.hpp"
#include "arguments/tool_path.hpp"
#include "commands/command.hpp"
#include "display.hpp"
#include "engine/drive.hpp"
#include "io/call_trace.hpp"
#include "io/faults.hpp"
#include "io/file.hpp"
#include "io/interruption.hpp"
#include "io/message.hpp"
#include "io/outcome.hpp"
#include "io/output_check.hpp"
#include "json.hpp"
#include "narratoria/engine.hpp"
#include "narratoria/tools.hpp"

namespace narratoria::command {
namespace {

struct ToolRunOptions {
    std::string tool;
    std::string project;
    std::optional<std::string> trace;
    std::optional<std::string> input;
    std::optional<std::string> state;
    GroupOptions groups;
};

// Writes the tool's own events to standard output. If the reader goes away, the tool is ended.
class EventLines {
public:
    explicit EventLines(const Session& session) : session_(session) {}

    void add(const Event& event) {
        if (reader_is_gone_) return;
        buffer_ += event.body();
        buffer_ += '\n';
        if (buffer_.size() >= kBatch) flush();
    }

    void flush() {
        if (buffer_.empty() || reader_is_gone_) return;
        if (!write_all(STDOUT_FILENO, buffer_)) {
            reader_is_gone_ = true;
            error_ = errno;
            session_.cancel();
        }
        buffer_.clear();
    }

    bool reader_is_gone() const noexcept { return reader_is_gone_; }
    int error() const noexcept { return error_; }

private:
    static constexpr std::size_t kBatch = 64 * 1024;
    const Session& session_;
    std::string buffer_;
    bool reader_is_gone_ = false;
    int error_ = 0;
};

// The plan names a project's tool without a path.
std::string one_tool_plan(const ToolFile& tool, const std::string& input) {
    return fmt::format(
        R"({{"requestId":"{}","tools":[{{"toolId":{},"toolPath":{},"input":{},"retryPolicy":{{"maxRetries":0}}}}]}})",
        make_uuid(), json::quoted(tool.name), json::quoted(tool.path), input);
}

void require_utf8(const std::string& path, const std::string& given) {
    if (!json::ill_formed_utf8(path)) return;
    throw Refused(
        fmt::format("the path of {} is not UTF-8, so a plan cannot name it; create a symbolic link "
                    "with a UTF-8 name and run that",
                    display_path(given)));
}

// Collects the warnings of the engine. The event stream reports those with a code.
class EngineWarnings {
public:
    void add(const LogLine& line) {
        if (line.level < NAR_LOG_WARN || !line.code.empty()) return;
        if (is_collecting_) lines_.emplace_back(line.message);
        else complain(printable(line.message));
    }
    // Prints the warnings without those about other tools of the project. `problem`: the reason why
    // the tool cannot run, which its failure reports.
    void print_those_about(const std::string& tool, std::string_view problem) {
        is_collecting_ = false;
        for (const std::string& line : lines_) {
            const bool is_about_a_tool = line.find("the tool \"") != std::string::npos;
            if (is_about_a_tool && line.find(json::quoted(tool)) == std::string::npos) continue;
            if (problem.empty() || !line.ends_with(problem)) complain(printable(line));
        }
    }

private:
    bool is_collecting_ = true;
    std::vector<std::string> lines_;
};

Session session_of(Engine& engine, const ToolRunOptions& options) {
    try {
        return Session(engine, {.project = options.project});
    } catch (const Error& error) {
        refuse_document(error, display_path(options.project), "project", "nothing was run");
    }
}

// Returns why the tool cannot run, or an empty text. Throws Refused, before anything runs, if the
// project does not bind the tool.
std::string require_tool(Session& session, const ToolRunOptions& options) {
    const Text text = session.tools().list();
    const json::Document tools = json::read(text);
    std::string names;
    std::vector<std::string> known;
    for (const json::Value& each : tools.GetArray()) {
        const std::string_view name = json::text(each, "name");
        if (name == options.tool) return std::string(json::text(each, "problem"));
        names += fmt::format("{}{}", names.empty() ? "" : ", ", printable(name));
        known.emplace_back(name);
    }
    const std::string near = similar_name(options.tool, known);
    throw Refused(fmt::format("the project {} binds no tool {}; {}", display_path(options.project),
                              printable(options.tool),
                              !near.empty()   ? fmt::format("did you mean {}?", printable(near))
                              : names.empty() ? "it binds none"
                                              : "it binds " + names));
}

// The user wrote no plan: a fault concerns the tool's path, or else its input.
[[noreturn]] void refuse_plan(const Error& error, const ToolRunOptions& options) {
    if (error.status() != NAR_INVALID_DOCUMENT) throw Refused(printable(error.message()));
    std::vector<std::string> lines;
    const json::Document faults = json::read(error.details());
    for (const json::Value& fault : faults.GetArray()) {
        const bool is_of_path = json::text(fault, "pointer").ends_with("/toolPath");
        lines.push_back(fmt::format("{}: {}", is_of_path ? display_path(options.tool) : "--input",
                                    printable(json::text(fault, "message"))));
    }
    throw Refused("nothing was run; correct the faults above and try again", std::move(lines));
}

int tool_run(const ToolRunOptions& options) {
    const bool is_of_project = !options.project.empty();
    if (options.trace && !is_of_project) {
        throw Refused("--trace: works only with a project's tools; give its folder with --project");
    }
    const ToolFile tool =
        is_of_project ? ToolFile{options.tool, options.tool} : find_tool(options.tool);
    require_utf8(tool.path, options.tool);
    const std::string input = read_object(kToolInput, options.input);
    const json::Document state = json::read(read_object(kToolState, options.state));
    require_standard_output("the tool's events");
    std::optional<CallTrace> trace;
    if (options.trace) {
        OutputCheck check;
        if (options.input) check.add_input(file_of_object(*options.input), "--input");
        check.add_folder(options.project);
        trace.emplace(*options.trace, check);
        check.add_standard_output();
    }

    Result result;
    std::unique_ptr<EventLines> lines;
    EngineOptions engine_options;
    // The printed paths of assets stay readable for a day.
    engine_options.output_mode = NAR_OUTPUT_KEEP;
    EngineWarnings warnings;
    engine_options.log = [&](const LogLine& line) { warnings.add(line); };
    options.groups.apply_to(engine_options);
    Engine engine(engine_options);
    Session session = session_of(engine, options);
    warnings.print_those_about(options.tool, is_of_project ? require_tool(session, options) : "");
    for (const auto& member : state.GetObject()) {
        session.set_state({member.name.GetString(), member.name.GetStringLength()},
                          json::line(member.value));
    }
    lines = std::make_unique<EventLines>(session);
    session.attach(
        [&](const Event& event) {
            if (event.kind() == Kind::ToolEvent) {
                lines->add(event);
                return;
            }
            const json::Document body = json::read(event.body());
            const std::string_view code = json::text(body, "code");
            complain(fmt::format("warning: {}{}{}", printable(code), code.empty() ? "" : ": ",
                                 printable(json::text(body, "message"))));
        },
        kinds(Kind::ToolEvent, Kind::AssetRefused, Kind::Warning));
    if (trace) {
        session.attach([&](const Event& event) { trace->record(event); },
                       CallTrace::wanted_kinds());
    }
    try {
        session.execute(one_tool_plan(tool, input), {},
                        [&](Result ended) { result = std::move(ended); });
    } catch (const Error& error) {
        refuse_plan(error, options);
    }
    if (trace) trace->start();
    const auto flush = [&] {
        lines->flush();
        if (trace) trace->flush();
    };
    {
        const interruption::CancelSessionOnSignal cancels(session.raw());
        drive_until_idle(engine, flush);
    }
    flush();
    if (!result) throw Failed("the engine became idle without a result; please report this");

    if (interruption::received() != 0) return kExitSignal + interruption::received();
    if (lines->reader_is_gone()) {
        if (lines->error() != EPIPE) {
            complain(fmt::format("cannot write the events to standard output: {}",
                                 reason(lines->error())));
        }
        return kExitFailure;
    }
    if (result.success()) return trace && trace->failed() ? kExitFailure : kExitSuccess;
    complain_lines(lines_about_failure(result, false));
    complain("the tool failed");
    return kExitFailure;
}

}  // namespace

void add_tool_run(Command tool) {
    Command command =
        tool.subcommand("run", "Run one tool and print its events as NDJSON while it runs");
    auto options = std::make_shared<ToolRunOptions>();
    command
        .option("TOOL", options->tool,
                "The tool's program; a bare name is a file in the working folder. With "
                "--project: the name of a tool in the project")
        .required();
    command.option("--project", options->project, "Run a tool of this Namel3ss project by its name")
        .type_name("FOLDER")
        .not_empty();
    command
        .option("--trace", options->trace,
                "Write the trace entries of a project's tool to FILE, one per line")
        .type_name("FILE");
    command
        .option("--input", options->input,
                "The tool's input: a JSON object, @FILE, or - for standard input (default: {})")
        .type_name("JSON");
    command
        .option("--state", options->state,
                "The session's state; the tool gets the parts that its manifest names: a JSON "
                "object, @FILE, or - for standard input (default: {})")
        .type_name("JSON");
    options->groups.add_to(command);
    command.footer(
        "Exit status: 0 the tool completed, 1 it failed, 2 it was not run, 130 after Ctrl-C.\n"
        "Example:\n"
        "  narratoria tool run tools/torch-lighter --input '{\"action\": \"light_torch\"}'\n"
        "  narratoria tool run greeter --project . --input '{\"name\": \"Ada\"}' --trace "
        "trace.ndjson\n"
        "  narratoria tool run tools/window --state '{\"lamp\": {\"lit\": true}}'");
    command.action([options] { return tool_run(*options); });
}

}  // namespace narratoria::command
