// SPDX-License-Identifier: Apache-2.0
// A tool runner that runs tools on a Slurm cluster: each as a job of its own, or as steps of one allocation.
// The request goes through srun to the tool's standard input, and its events come back.

#include <narratoria/plugin.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shared/named_commands.hpp"
#include "shared/remote_path.hpp"
#include "shared/settings.hpp"
#include "slurm/allocation.hpp"
#include "slurm/messages.hpp"
#include "slurm/queue.hpp"

namespace plugin = narratoria::plugin;

namespace narratoria::slurm {
namespace {

constexpr std::string_view kId = "narratoria.slurm";
constexpr std::string_view kOptionsExample = R"(options = ["--cpus-per-task=4", "--mem=8G"])";
constexpr std::string_view kAllocationExample = R"(allocation = ["--nodes=2", "--exclusive"])";
constexpr std::string_view kSecondsExample = "lease = 60";
constexpr std::uint64_t kMostSeconds = 86'400;
// The time in which srun and the tool may end after SIGTERM.
constexpr std::uint32_t kGraceMs = 5000;

using Texts = std::vector<std::string>;

void append(Texts& texts, const Texts& more) {
    texts.insert(texts.end(), more.begin(), more.end());
}

// One attempt: it waits for an allocation, then srun carries it to the cluster.
struct Run {
    explicit Run(plugin::Invocation started) : invocation(std::move(started)) {}

    plugin::Invocation invocation;
    Texts options;      // of the profile
    std::string path;   // of the tool
    Texts environment;  // of srun and the tool
    std::string folder;
    std::string request;

    std::unique_ptr<Allocation> allocation;  // NULL in the shared one
    plugin::Process srun;
    Messages messages;
    std::string waiting_output;  // that the host has not taken yet
    bool has_started = false;    // srun
    bool has_output = false;  // of the tool: no line of the runner may come within one of its lines
    bool is_cancelled = false;
    std::string lost_code;  // of the allocation, while srun ran
    std::string lost_reason;
};

class Slurm final : public plugin::ToolRunner {
public:
    static constexpr std::string_view kSchemes[] = {"slurm"};

    // With invalid settings, each tool fails with the reason. If the constructor threw instead, tools would
    // only fail with "no tool runner knows the scheme".
    explicit Slurm(const plugin::Host& host) : host_(host), queue_(host) {
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
        const auto run = std::make_shared<Run>(std::move(invocation));
        run->options = profile ? profiles_.of(*profile) : options_;
        run->path = plugins::remote_path(path, request.plan_folder());
        for (const std::string_view each : request.environment())
            run->environment.emplace_back(each);
        run->folder = std::string(request.root());
        run->request = std::string(request.request()) + "\n";
        const std::uint64_t token = run->invocation.token();
        const std::string name = "narratoria-" + std::string(request.tool_id());
        if (allocation_options_) share(*run);
        else run->allocation = allocate(name, run->options, run->environment, {token});
        runs_.emplace(token, run);
        idle_.stop();
        if (shared_ && shared_->is_running()) launch(*run, shared_->job());
    }

    void cancel_invocation(std::uint64_t token) override {
        const auto found = runs_.find(token);
        if (found == runs_.end()) return;
        Run& run = *found->second;
        run.is_cancelled = true;
        if (run.has_started) run.srun.terminate(kGraceMs);
        else end(run, {});
    }

private:
    void read(const plugins::Settings& settings) {
        for (const std::string& name :
             settings.unknown_keys({"options", "profiles", "allocation", "lease", "idle"})) {
            host_.log(plugin::Level::Warning,
                      "there is no setting \"" + name +
                          "\"; the settings are options, profiles, allocation, lease and idle");
        }
        if (auto options = settings.command("options", kOptionsExample)) options_ = *options;
        profiles_ = plugins::NamedCommands(settings, kId, "profiles", "gpu",
                                           R"(["--gpus=1", "--time=10"])");
        allocation_options_ = settings.command("allocation", kAllocationExample);
        const auto seconds = [&](std::string_view name, std::chrono::milliseconds& value) {
            const auto given = settings.number(name, kMostSeconds, kSecondsExample);
            if (given == 0u) throw settings.wrong(name, "at least 1 second", kSecondsExample);
            if (given) value = std::chrono::seconds(*given);
        };
        seconds("lease", lease_);
        seconds("idle", idle_time_);
    }

    // ---- allocations

    // `token`: of the run that has the allocation for itself; nothing: it is the shared one.
    std::unique_ptr<Allocation> allocate(const std::string& name, const Texts& options,
                                         const Texts& environment,
                                         std::optional<std::uint64_t> token) {
        const auto each = [this, token](const auto& function) {
            for (const auto& [own, run] : std::map(runs_)) {
                if (token ? own == *token : run->allocation == nullptr) function(*run);
            }
        };
        Allocation::Events events;
        events.on_running = [this, each, token] {
            each([&](Run& run) {
                if (!run.has_started) launch(run, (token ? run.allocation : shared_)->job());
            });
        };
        events.on_pending = [this, each, token](const std::string& reason) {
            each([&](Run& run) {
                say(run, "job " + std::to_string((token ? run.allocation : shared_)->job()) +
                             " of Slurm is pending: " + reason);
            });
        };
        events.on_lost = [this, each, token](const std::string& code, const std::string& reason) {
            // This is the last use of the allocation.
            const auto lost = token ? nullptr : std::move(shared_);
            each([&](Run& run) {
                run.lost_code = code;
                run.lost_reason = reason;
                // srun would wait for the answer of a node that is down.
                if (run.has_started) run.srun.terminate(kGraceMs);
                else end(run, {});
            });
        };
        return std::make_unique<Allocation>(host_, queue_,
                                            Allocation::Request{name, options, environment, lease_},
                                            std::move(events));
    }

    void share(const Run& run) {
        if (shared_) return;
        shared_ = allocate("narratoria", *allocation_options_, run.environment, std::nullopt);
    }

    void release_when_idle() {
        if (!shared_ || !runs_.empty()) return;
        idle_ = plugin::Timer(host_, idle_time_, [this] { shared_.reset(); });
    }

    // ---- a step

    void launch(Run& run, std::uint64_t job) {
        run.has_started = true;
        plugin::Program program;
        program.arguments = {"srun", "--jobid=" + std::to_string(job), "--nodes=1", "--ntasks=1",
                             "--unbuffered"};
        if (!run.allocation) {
            // Several steps at a time; srun waits until the resources of this one are free.
            program.arguments.push_back("--exact");
            append(program.arguments, run.options);
        }
        program.arguments.push_back("--");
        program.arguments.push_back(run.path);
        program.environment = run.environment;
        program.folder = run.folder;
        const auto call = [this, token = run.invocation.token()](auto function) {
            const auto found = runs_.find(token);
            if (found == runs_.end()) return;
            const std::shared_ptr<Run> kept = found->second;
            function(*kept);
        };
        plugin::ProcessEvents events;
        events.on_output = [this, call](std::string_view bytes) {
            call([&](Run& its) {
                its.has_output = true;
                its.waiting_output += bytes;
                give_output(its);
            });
        };
        events.on_diagnostics = [call](std::string_view bytes) {
            call([&](Run& its) {
                its.messages.take(bytes);
                its.invocation.diagnostics(bytes);
            });
        };
        events.on_exit = [this, call](const plugin::ProcessExit& exit) {
            call([&](Run& its) { end(its, exit); });
        };
        try {
            run.srun = plugin::Process(host_, program, std::move(events));
        } catch (const narratoria::Error& error) {
            plugin::ProcessExit failed;
            failed.error_code = "SPAWN_FAILED";
            failed.error = std::string(error.message());
            return end(run, failed);
        }
        run.srun.write(run.request);
        run.srun.close_input();
    }

    // The host buffers at most 16 MiB of unread output and reports NAR_BUSY beyond that. Retries
    // until it accepts the rest.
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

    static void say(Run& run, const std::string& message) {
        if (run.has_output) return;
        run.invocation.event(R"({"version":"0","type":"log","level":"info","message":)" +
                             plugin::quoted(message) + "}");
    }

    void end(Run& run, const plugin::ProcessExit& exit) {
        // The most exact reason: what the supervisor of srun reports, what srun says, how the job ended.
        std::string code = exit.error_code, reason = exit.error;
        if (code.empty()) {
            code = run.messages.code();
            reason = run.messages.reason();
        }
        if (!run.lost_code.empty() && (code.empty() || code == "JOB_CANCELLED")) {
            code = run.lost_code;
            reason = run.lost_reason;
        }
        if (run.is_cancelled) code.clear();
        // The queue would report it later; the next attempt gets a new allocation.
        if (!run.allocation && code == "ALLOCATION_LOST") shared_.reset();
        plugin::End end;
        end.exit_status = exit.status >= 0 ? exit.status : 128 + static_cast<int>(exit.signal);
        end.error_code = code;
        end.error = reason;
        // Ends the job, if it is this run's own.
        const std::shared_ptr<Run> last = std::move(runs_.extract(run.invocation.token()).mapped());
        last->invocation.ended(end);
        release_when_idle();
    }

    plugin::Host host_;
    std::string fault_;
    Texts options_;
    plugins::NamedCommands profiles_;
    std::optional<Texts> allocation_options_;
    std::chrono::milliseconds lease_{60'000};
    std::chrono::milliseconds idle_time_{60'000};
    Queue queue_;
    std::unique_ptr<Allocation> shared_;
    std::map<std::uint64_t, std::shared_ptr<Run>> runs_;
    plugin::Timer retry_;
    plugin::Timer idle_;
};

}  // namespace
}  // namespace narratoria::slurm

using Slurm = narratoria::slurm::Slurm;
NARRATORIA_PLUGIN(Slurm, "narratoria.slurm", "Slurm", "1.0.0", "narratoria.tool_runner/1");
