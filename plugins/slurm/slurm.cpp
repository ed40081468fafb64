// SPDX-License-Identifier: Apache-2.0
// A tool runner that runs each tool as a job of a Slurm cluster, with srun. The request goes through srun to
// the tool's standard input, and its events come back.

#include <narratoria/plugin.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "shared/remote_path.hpp"
#include "shared/settings.hpp"
#include "slurm/messages.hpp"

namespace plugin = narratoria::plugin;

namespace narratoria::slurm {
namespace {

constexpr std::string_view kId = "narratoria.slurm";
constexpr std::string_view kOptionsExample = R"(options = ["--cpus-per-task=4", "--mem=8G"])";
constexpr std::string_view kProfilesExample = R"(profiles.gpu = ["--gpus=1", "--time=10"])";
// How often the queue is asked for the reasons why jobs wait. One question serves all of them.
constexpr std::chrono::milliseconds kBetweenQuestions(2000);
// What srun and the tool get to end after SIGTERM.
constexpr std::uint32_t kGraceMs = 5000;

std::string log_event(std::string_view level, std::string_view message) {
    return R"({"version":"0","type":"log","level":")" + std::string(level) + R"(","message":)" +
           plugin::quoted(message) + "}";
}

// One attempt, and the srun that carries it to the cluster.
struct Run {
    explicit Run(plugin::Invocation started) : invocation(std::move(started)) {}

    plugin::Invocation invocation;
    plugin::Process srun;
    Messages messages;
    std::string waiting_output;  // that the host did not take yet
    std::string shown_reason;    // the last one that was logged
    bool has_output = false;     // of the tool: from then on no line of ours comes between
    bool is_cancelled = false;
};

class Slurm final : public plugin::ToolRunner {
public:
    static constexpr std::string_view kSchemes[] = {"slurm"};

    // With invalid settings, each tool fails with the reason. If the constructor threw instead, tools would
    // only fail with "no tool runner knows the scheme".
    explicit Slurm(const plugin::Host& host) : host_(host) {
        try {
            read(plugins::Settings(host.settings(), kId));
        } catch (const plugins::SettingError& error) {
            fault_ = error.what();
            host.log(plugin::Level::Warning, fault_);
        }
    }

    void start(const plugin::InvocationRequest& request, plugin::Invocation invocation) override {
        if (!fault_.empty()) throw plugin::CannotStart(fault_);
        std::string_view path = request.path_after_scheme();
        const std::optional<std::string> profile = plugins::take_name(path);
        if (path.empty()) {
            throw plugin::CannotStart(
                "\"" + std::string(request.tool_path()) +
                "\" does not name a tool; write slurm:PATH or slurm:PROFILE:PATH");
        }
        plugin::Program program;
        program.arguments = {"srun", "--nodes=1", "--ntasks=1", "--unbuffered",
                             "--job-name=narratoria-" + std::string(request.tool_id())};
        append(program.arguments, options_);
        if (profile) append(program.arguments, options_of(*profile));
        program.arguments.push_back("--");
        program.arguments.push_back(plugins::remote_path(path, request.plan_folder()));
        program.environment.emplace();
        for (const std::string_view each : request.environment()) {
            program.environment->emplace_back(each);
        }
        program.folder = std::string(request.root());

        const auto run = std::make_shared<Run>(std::move(invocation));
        const std::uint64_t token = run->invocation.token();
        const auto call = [this, token](auto function) {
            const auto found = runs_.find(token);
            if (found == runs_.end()) return;
            const std::shared_ptr<Run> kept = found->second;
            function(*kept);
        };
        plugin::ProcessEvents events;
        events.on_output = [this, call](std::string_view bytes) {
            call([&](Run& its) { take_output(its, bytes); });
        };
        events.on_diagnostics = [this, call](std::string_view bytes) {
            call([&](Run& its) { take_diagnostics(its, bytes); });
        };
        events.on_exit = [this, call](const plugin::ProcessExit& exit) {
            call([&](Run& its) { end(its, exit); });
        };
        run->srun = plugin::Process(host_, program, std::move(events));
        run->srun.write(request.request());
        run->srun.write("\n");
        run->srun.close_input();
        runs_.emplace(token, run);
    }

    void cancel_invocation(std::uint64_t token) override {
        const auto found = runs_.find(token);
        if (found == runs_.end()) return;
        found->second->is_cancelled = true;
        found->second->srun.terminate(kGraceMs);
    }

private:
    using Texts = std::vector<std::string>;

    static void append(Texts& arguments, const Texts& more) {
        arguments.insert(arguments.end(), more.begin(), more.end());
    }

    void read(const plugins::Settings& settings) {
        for (const std::string& name : settings.unknown_keys({"options", "profiles"})) {
            host_.log(plugin::Level::Warning, "there is no setting \"" + name +
                                                  "\"; the settings are options and profiles");
        }
        if (auto options = settings.command("options", kOptionsExample)) options_ = *options;
        for (auto& [name, options] : settings.commands("profiles", kProfilesExample)) {
            if (name.empty() || name.find_first_of(":/") != std::string::npos) {
                throw settings.wrong("profiles", "a table of names without colon and slash",
                                     kProfilesExample);
            }
            profiles_[name] = std::move(options);
        }
    }

    const Texts& options_of(const std::string& profile) const {
        const auto found = profiles_.find(profile);
        if (found != profiles_.end()) return found->second;
        std::string known;
        for (const auto& [name, options] : profiles_) known += (known.empty() ? "" : ", ") + name;
        throw plugin::CannotStart("the setting \"profiles\" has no \"" + profile +
                                  "\" (it has: " + (known.empty() ? "none" : known) +
                                  "); write in story.toml under [plugins.\"" + std::string(kId) +
                                  "\"]: " + std::string(kProfilesExample) +
                                  "; a file whose name has a colon is written ./a:b");
    }

    void take_output(Run& run, std::string_view bytes) {
        run.has_output = true;
        run.waiting_output += bytes;
        give_output(run);
    }

    // The host takes 16 MiB at most until it has read them.
    void give_output(Run& run) {
        if (run.waiting_output.empty()) return;
        try {
            run.invocation.output(run.waiting_output);
            run.waiting_output.clear();
        } catch (const narratoria::Error& error) {
            if (error.status() != NAR_BUSY) throw;
            if (retry_.is_running()) return;
            retry_ = plugin::Timer(host_, std::chrono::milliseconds(1), [this] {
                for (const auto& [token, each] : std::map(runs_)) give_output(*each);
            });
        }
    }

    void take_diagnostics(Run& run, std::string_view bytes) {
        const bool was_queued = run.messages.is_queued();
        const std::string kept = run.messages.take(bytes);
        if (!kept.empty()) run.invocation.diagnostics(kept);
        if (run.messages.is_queued() && !was_queued) ask_queue_soon();
        if (was_queued && !run.messages.is_queued()) {
            say(run, "debug", "job " + std::to_string(run.messages.job()) + " of Slurm runs");
        }
    }

    void say(Run& run, std::string_view level, const std::string& message) {
        if (!run.has_output) run.invocation.event(log_event(level, message));
    }

    // ---- the queue

    void ask_queue_soon() {
        if (question_.is_running() || next_question_.is_running()) return;
        next_question_ =
            plugin::Timer(host_, std::chrono::milliseconds(100), [this] { ask_queue(); });
    }

    void ask_queue() {
        std::string jobs;
        for (const auto& [token, run] : runs_) {
            if (!run->messages.is_queued()) continue;
            jobs += (jobs.empty() ? "" : ",") + std::to_string(run->messages.job());
        }
        if (jobs.empty() || question_.is_running()) return;
        answer_.clear();
        plugin::Program program;
        program.arguments = {"squeue", "--noheader", "--jobs=" + jobs, "--format=%i %r"};
        plugin::ProcessEvents events;
        events.on_output = [this](std::string_view bytes) { answer_ += bytes; };
        events.on_exit = [this](const plugin::ProcessExit&) {
            take_answer();
            next_question_ = plugin::Timer(host_, kBetweenQuestions, [this] { ask_queue(); });
        };
        question_ = plugin::Process(host_, program, std::move(events));
    }

    // Lines "17 Resources".
    void take_answer() {
        std::map<std::string, std::string, std::less<>> reasons;
        for (std::string_view rest = answer_; !rest.empty();) {
            const std::string_view line = rest.substr(0, rest.find('\n'));
            rest.remove_prefix(std::min(line.size() + 1, rest.size()));
            const std::size_t space = line.find(' ');
            if (space != line.npos) reasons.emplace(line.substr(0, space), line.substr(space + 1));
        }
        for (const auto& [token, run] : std::map(runs_)) {
            const auto found = reasons.find(std::to_string(run->messages.job()));
            if (!run->messages.is_queued() || found == reasons.end()) continue;
            const std::string& reason = found->second;
            if (reason == "None" || reason == run->shown_reason) continue;
            run->shown_reason = reason;
            say(*run, "info", "job " + found->first + " of Slurm is pending: " + reason);
        }
    }

    // ---- the end

    void end(Run& run, const plugin::ProcessExit& exit) {
        const std::string rest = run.messages.take_rest();
        if (!rest.empty()) run.invocation.diagnostics(rest);
        plugin::End end;
        std::string code = run.messages.code(), reason = run.messages.reason();
        if (!exit.error_code.empty()) {
            code = exit.error_code;
            reason = exit.error;
        }
        if (run.is_cancelled) code.clear();
        end.exit_status = exit.status >= 0 ? exit.status : 128 + static_cast<int>(exit.signal);
        end.error_code = code;
        end.error = reason;
        const std::uint64_t token = run.invocation.token();
        run.invocation.ended(end);
        runs_.erase(token);
    }

    plugin::Host host_;
    std::string fault_;
    Texts options_;
    std::map<std::string, Texts> profiles_;
    std::map<std::uint64_t, std::shared_ptr<Run>> runs_;
    plugin::Timer retry_;
    plugin::Timer next_question_;
    plugin::Process question_;
    std::string answer_;  // of squeue
};

}  // namespace
}  // namespace narratoria::slurm

using Slurm = narratoria::slurm::Slurm;
NARRATORIA_PLUGIN(Slurm, "narratoria.slurm", "Slurm", "1.0.0", "narratoria.tool_runner/1");
