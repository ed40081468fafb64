// SPDX-License-Identifier: Apache-2.0
// narratoria run: runs a plan, without a narrator.

#include <fmt/core.h>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arguments/group_options.hpp"
#include "commands/command.hpp"
#include "display.hpp"
#include "engine/drive.hpp"
#include "io/faults.hpp"
#include "io/file.hpp"
#include "io/interruption.hpp"
#include "io/message.hpp"
#include "io/outcome.hpp"
#include "io/output_check.hpp"
#include "io/progress.hpp"
#include "io/state_lock.hpp"
#include "io/trace.hpp"
#include "json.hpp"
#include "narratoria/engine.hpp"
#include "narratoria/validate.hpp"

namespace narratoria::command {
namespace {

struct RunOptions {
    std::string plan;
    std::string project;
    std::optional<std::string> result;
    std::optional<std::string> events;
    std::optional<std::string> state;
    std::optional<std::string> trace;
    double state_wait = 10;
    std::uint32_t jobs = 0;
    std::optional<std::uint32_t> try_ms;
    std::optional<std::uint32_t> plan_ms;
    std::optional<std::uint32_t> grace_ms;
    GroupOptions groups;
    bool quiet = false;
};

std::uint32_t time_of(const std::optional<std::uint32_t>& given) {
    if (!given) return 0;
    return *given == 0 ? NAR_NONE : *given;
}

// The first bytes of earlier results and records: such files may be replaced.
constexpr std::string_view kResultBegin = R"({"planId":)";
constexpr std::string_view kRecordBegin = R"({"seq":)";

// The files that a plan may run. A plan that is not valid JSON has none.
std::vector<std::string> files_of_tools(const std::string& plan, const std::string& folder) {
    std::vector<std::string> files;
    const json::Document document = json::read(plan);
    const json::Value* const tools = json::member(document, "tools");
    if (tools == nullptr || !tools->IsArray()) return files;
    for (const json::Value& tool : tools->GetArray()) {
        const std::string path(json::text(tool, "toolPath"));
        if (path.empty() || path.find('\0') != std::string::npos) continue;
        files.push_back(path.front() == '/' ? path : folder + "/" + path);
    }
    return files;
}

// All outputs of a run. They are opened before anything runs.
struct Outputs {
    Outputs(const RunOptions& options, const std::string& plan, const std::string& folder) {
        using enum Replacement::Durability;
        const auto open_replacement = [](const std::optional<std::string>& path,
                                         std::string_view what,
                                         Replacement::Durability durability) {
            return path ? std::make_unique<Replacement>(*path, what, durability) : nullptr;
        };
        state = open_replacement(options.state, "state", Durable);
        result = open_replacement(options.result, "result", Atomic);
        trace = open_replacement(options.trace, "trace", Atomic);
        if (options.events) events = std::make_unique<LineFile>(*options.events, "events");
        if (!result) {
            require_standard_output("the result", "give a file with --result FILE");
        }
        OutputCheck check;
        check.add_input(options.plan, "PLAN");
        for (const std::string& tool : files_of_tools(plan, folder)) {
            check.add_input(tool, display_path(tool));
        }
        check.add_folder(options.project);
        // Any content of the state file may be replaced (""), because it is read first.
        if (state) check.add_output("--state", *options.state, state->identity(), {""});
        if (result)
            check.add_output("--result", *options.result, result->identity(), {kResultBegin});
        if (trace) check.add_output("--trace", *options.trace, trace->identity(), {Trace::kBegin});
        if (events)
            check.add_output("--events", *options.events, events->identity(), {kRecordBegin});
        if (!result) check.add_standard_output();
    }

    std::unique_ptr<Replacement> state;
    std::unique_ptr<Replacement> result;
    std::unique_ptr<Replacement> trace;
    std::unique_ptr<LineFile> events;
};

std::string starting_state(const RunOptions& options) {
    if (!options.state) return {};
    const std::optional<std::string> state = read_document_if_there(*options.state, "state");
    if (state && state->empty()) {
        throw Refused(
            fmt::format("the state file {} is empty; write {{}} into it to start with an empty "
                        "state, or remove the file",
                        display_path(*options.state)));
    }
    return state.value_or(std::string());
}

Session session_with_state(Engine& engine, const RunOptions& options, const std::string& state) {
    try {
        return Session(engine, {.state = state, .project = options.project});
    } catch (const Error& error) {
        if (error.code() == "PROJECT") {
            refuse_document(error, display_path(options.project), "project", "nothing was run");
        }
        refuse_document(error, display_path(options.state.value_or("state")), "state",
                        "nothing was run, and the file is unchanged");
    }
}

// Only duplicate keys: finding them takes an extra pass. The event stream has the other warnings.
void warn_of_duplicates(const std::string& plan, const std::string& shown, Progress& progress) {
    const Text text = validate(Document::Plan, plan, Warnings::Listed);
    const json::Document faults = json::read(text.view());
    for (const json::Value& fault : faults.GetArray()) {
        if (json::text(fault, "rule") != "json-key-unique") continue;
        progress.warn(fmt::format("{}:{}:{}: {}: {}", shown, json::count(fault, "line"),
                                  json::count(fault, "column"), json::text(fault, "pointer"),
                                  json::text(fault, "message")));
    }
}

int run(const RunOptions& options) {
    // An empty `result` means standard output. Map "-" and the device names to it.
    RunOptions effective = options;
    for (const char* name : {"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}) {
        if (effective.result == name) effective.result.reset();
    }
    if (effective.state == "-") {
        throw Refused(
            "--state: cannot be standard input; give a file, which is replaced at the end");
    }
    if (effective.state) require_regular_file(*effective.state, "state");

    const std::string plan = read_document(effective.plan, "plan");
    const std::string folder = folder_of_document(effective.plan);
    Outputs outputs(effective, plan, folder);
    // Held from before the state is read until it is replaced.
    std::optional<StateLock> lock;
    if (effective.state) {
        lock.emplace(*effective.state, static_cast<std::uint64_t>(effective.state_wait * 1000));
    }
    const std::string state = starting_state(effective);

    // Declared before the session, so that they outlive it: sinks and handlers refer to them.
    std::optional<Progress> progress;
    std::optional<Trace> trace;
    Result result;

    EngineOptions engine_options;
    // The printed paths of assets stay readable for a day.
    engine_options.output_mode = NAR_OUTPUT_KEEP;
    engine_options.jobs = effective.jobs;
    Times times;
    times.try_ms = time_of(effective.try_ms);
    times.plan_ms = time_of(effective.plan_ms);
    times.grace_ms = time_of(effective.grace_ms);
    engine_options.times = times;
    effective.groups.apply_to(engine_options);
    if (!effective.quiet) {
        progress.emplace();
        engine_options.log = [&](const LogLine& line) {
            if (line.level >= NAR_LOG_WARN) progress->warn(line.message);
        };
    }
    Engine engine(engine_options);
    Session session = session_with_state(engine, effective, state);

    if (progress) {
        session.attach([&](const Event& event) { progress->on_event(event); },
                       Progress::wanted_kinds());
    }
    if (outputs.events) {
        session.attach([&](const Event& event) { outputs.events->append(event.json()); });
    }
    if (outputs.trace) {
        trace.emplace(outputs.trace->descriptor());
        session.attach([&](const Event& event) { trace->record(event); }, Trace::wanted_kinds());
    }

    try {
        session.execute(plan, folder, [&](Result ended) { result = std::move(ended); });
    } catch (const Error& error) {
        refuse_document(error, display_path(effective.plan), "plan", "nothing was run");
    }
    if (outputs.events) outputs.events->start();
    if (progress) warn_of_duplicates(plan, display_path(effective.plan), *progress);

    const auto after_batch = [&] {
        if (outputs.events) outputs.events->flush();
        if (progress) progress->refresh();
    };
    {
        const interruption::CancelSessionOnSignal cancels(session.raw());
        if (progress && progress->is_live()) {
            drive_until_idle(engine, after_batch, [&] { return progress->next_refresh(); });
        } else {
            drive_until_idle(engine, after_batch);
        }
    }
    if (progress) progress->close();
    if (outputs.events) outputs.events->flush();
    if (!result) throw Failed("the engine became idle without a result; please report this");

    // Write the state first: it cannot be recreated.
    bool all_written = !(outputs.events && outputs.events->failed());
    const auto attempt = [&](auto&& write) {
        try {
            write();
        } catch (const Failed& failed) {
            complain(failed.what());
            all_written = false;
        }
    };
    if (outputs.state) {
        attempt([&] {
            const Text text = session.state();
            if (!write_all(outputs.state->descriptor(), text.view()) ||
                !write_all(outputs.state->descriptor(), "\n")) {
                throw Failed(fmt::format("cannot write the state to {}: {}; the file is unchanged",
                                         outputs.state->shown(), reason(errno)));
            }
            outputs.state->commit();
        });
    }
    if (trace) {
        attempt([&] {
            if (!trace->finish()) {
                throw Failed(fmt::format("cannot write the trace to {}: {}", outputs.trace->shown(),
                                         reason(errno)));
            }
            outputs.trace->commit();
        });
    }
    attempt([&] {
        if (!outputs.result) {
            all_written = write_result_to_standard_output(result) && all_written;
            return;
        }
        try {
            result.write_to(outputs.result->descriptor());
        } catch (const Error& error) {
            throw Failed(fmt::format("cannot write the result to {}: {}", outputs.result->shown(),
                                     printable(error.message())));
        }
        if (!write_all(outputs.result->descriptor(), "\n")) {
            throw Failed(fmt::format("cannot write the result to {}: {}", outputs.result->shown(),
                                     reason(errno)));
        }
        outputs.result->commit();
    });

    if (!result.success() && interruption::received() == 0) {
        complain_lines(lines_about_failure(result, !effective.quiet));
        complain("the plan failed; see the outcome of each tool in the result");
    }
    if (interruption::received() != 0) return kExitSignal + interruption::received();
    return result.success() && all_written ? kExitSuccess : kExitFailure;
}

}  // namespace

void add_run(Command application) {
    Command command = application.subcommand("run", "Run one plan and print its result");
    auto options = std::make_shared<RunOptions>();
    command.option("PLAN", options->plan, "Plan JSON; - is standard input").required();
    command
        .option("--project", options->project,
                "The plan may use the tools of this Namel3ss project by name")
        .type_name("FOLDER")
        .not_empty();
    command
        .option("--result", options->result,
                "Write the execution result to FILE instead of standard output")
        .type_name("FILE");
    command
        .option("--events", options->events,
                "Write the event stream to FILE as NDJSON while the plan runs")
        .type_name("FILE");
    command
        .option("--state", options->state,
                "Start from the state in FILE (if missing: {}), and replace FILE at the end")
        .type_name("FILE");
    command
        .option("--state-wait", options->state_wait,
                "How long to wait while another run uses the state file (default 10, 0: do not "
                "wait)")
        .within_seconds(0, 86400)
        .type_name("SECONDS");
    command
        .option("--trace", options->trace, "Write a timeline to FILE; open it in ui.perfetto.dev")
        .type_name("FILE");
    command
        .option("--jobs", options->jobs,
                "Tools that run at the same time, 1 to 4096 (default: the cores this process may "
                "use)")
        .within(1, 4096)
        .type_name("N");
    command
        .option("--try-ms", options->try_ms,
                "Timeout of one attempt of a tool (default 30000, 0: none)")
        .within(0, NAR_NONE - 1)
        .type_name("MS");
    command.option("--plan-ms", options->plan_ms, "Timeout of the plan (default 60000, 0: none)")
        .within(0, NAR_NONE - 1)
        .type_name("MS");
    command
        .option("--grace-ms", options->grace_ms,
                "Time from SIGTERM to SIGKILL (default 2000, 0: at once)")
        .within(0, NAR_NONE - 1)
        .type_name("MS");
    options->groups.add_to(command);
    command.flag("--quiet", options->quiet, "Show no progress; errors are still shown");
    command.footer(
        "Exit status: 0 the plan succeeded, 1 it failed, 2 it was refused and nothing ran,\n130 "
        "after Ctrl-C (the result and the state are written; a second Ctrl-C exits at "
        "once).\nExample:\n  narratoria run plan.json --state game.json --result result.json "
        "--trace trace.json");
    command.action([options] { return run(*options); });
}

}  // namespace narratoria::command
