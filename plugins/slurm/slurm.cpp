// SPDX-License-Identifier: Apache-2.0
// A tool runner that runs tools on a Slurm cluster: each as a job of its own, or as steps of one
// allocation. The request goes through srun to the tool's standard input, and its events come back.

#include <narratoria/plugin.hpp>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shared/named_commands.hpp"
#include "shared/remote_path.hpp"
#include "shared/settings.hpp"
#include "slurm/allocation.hpp"
#include "slurm/left_jobs.hpp"
#include "slurm/queue.hpp"
#include "slurm/resources.hpp"
#include "slurm/step.hpp"

namespace plugin = narratoria::plugin;

namespace narratoria::slurm {
namespace {

constexpr std::string_view kId = "narratoria.slurm";
constexpr std::string_view kOptionsExample = R"(options = ["--cpus-per-task=4", "--mem=8G"])";
constexpr std::string_view kAllocationExample = R"(allocation = ["--nodes=2", "--exclusive"])";
constexpr std::uint64_t kMostSeconds = 86'400;
// The state of a job is known every two seconds, and a lease is renewed when it runs.
constexpr std::uint64_t kLeastLease = 3;
// A tool in a job of its own has two processes here, and the host allows a plugin 128.
constexpr std::uint64_t kMostJobs = 60;
// They are held in memory.
constexpr std::uint64_t kMostFileBytes = 1 << 30;
constexpr std::uint64_t kMostSteps = 120;

using Texts = std::vector<std::string>;

void append(Texts& texts, const Texts& more) {
    texts.insert(texts.end(), more.begin(), more.end());
}

// One attempt: it waits for its turn, then for an allocation; then it is a step.
struct Run {
    explicit Run(plugin::Invocation started) : invocation(std::move(started)) {}

    plugin::Invocation invocation;
    Texts options;       // of the manifest, then of the profile or the settings
    std::string limits;  // see Step::Request
    std::string name;    // of its job
    std::string path;    // of the tool
    Texts environment;   // of srun and the tool
    std::string folder;
    std::string request;
    std::string output_folder;  // see Step::Request

    bool has_turn = false;
    std::unique_ptr<Allocation> allocation;  // NULL: the shared one
    std::uint64_t job = 0;                   // of the step
    std::unique_ptr<Step> step;
    std::string waiting_output;  // that the host has not taken yet
    bool has_output = false;  // of the tool: no line of the runner may come within one of its lines
    bool is_cancelled = false;
    Allocation::Loss lost;  // of the allocation; without a code: it is not lost
};

class Slurm final : public plugin::ToolRunner {
public:
    static constexpr std::string_view kSchemes[] = {"slurm"};
    static constexpr bool kWaits = true;
    static constexpr std::string_view kSettings = R"({
        "properties": {
            "options": {"$ref": "#/$defs/options"},
            "profiles": {"type": "object", "additionalProperties": {"$ref": "#/$defs/options"}},
            "allocation": {"$ref": "#/$defs/options"},
            "at_once": {"type": "integer", "minimum": 1, "maximum": 120},
            "lease": {"type": "integer", "minimum": 3, "maximum": 86400},
            "idle": {"type": "integer", "minimum": 1, "maximum": 86400},
            "shared": {"type": "boolean"},
            "file_bytes": {"type": "integer", "minimum": 1, "maximum": 1073741824}
        },
        "additionalProperties": false,
        "$defs": {"options": {"type": "array", "minItems": 1, "items": {"type": "string"}}}
    })";

    // With invalid settings, each tool fails with the reason. If the constructor threw instead,
    // tools would only fail with "no tool runner knows the scheme".
    explicit Slurm(const plugin::Host& host) : host_(host), queue_(host), left_jobs_(host) {
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
        const Texts& options = profile ? profiles_.of(*profile) : options_;
        // Of two values of an option the last one counts.
        run->options = options_of(request.resources(), options);
        append(run->options, options);
        run->limits = limit_commands(request.limits());
        run->path = plugins::remote_path(path, request.plan_folder());
        for (const std::string_view each : request.environment())
            run->environment.emplace_back(each);
        if (!is_shared_) run->output_folder = take_output_folder(run->environment);
        add_configuration(run->environment);
        run->folder = std::string(request.root());
        run->request = std::string(request.request()) + "\n";
        run->name = owner_.job_name(request.tool_id());
        run->invocation.set_waiting(true);
        left_jobs_.remove(owner_, run->environment);
        const std::uint64_t token = run->invocation.token();
        runs_.emplace(token, run);
        waiting_.push_back(token);
        idle_.stop();
        give_turns();
    }

    void cancel_invocation(std::uint64_t token) override {
        const auto found = runs_.find(token);
        if (found == runs_.end()) return;
        Run& run = *found->second;
        run.is_cancelled = true;
        if (run.step) run.step->terminate();
        else end(run, {});
    }

private:
    void read(const plugins::Settings& settings) {
        if (auto options = settings.command("options", kOptionsExample)) options_ = *options;
        profiles_ = plugins::NamedCommands(settings, kId, "profiles", "gpu",
                                           R"(["--gpus=1", "--time=10"])");
        allocation_options_ = settings.command("allocation", kAllocationExample);
        const auto number = [&](std::string_view name, std::uint64_t least, std::uint64_t most,
                                std::uint64_t usual) {
            const std::string example = std::string(name) + " = " + std::to_string(usual);
            const auto given = settings.number(name, UINT64_MAX, example);
            if (given && (*given < least || *given > most)) {
                throw settings.wrong(
                    name,
                    "a whole number from " + std::to_string(least) + " to " + std::to_string(most),
                    example);
            }
            return given.value_or(usual);
        };
        lease_ = std::chrono::seconds(number("lease", kLeastLease, kMostSeconds, 60));
        idle_time_ = std::chrono::seconds(number("idle", 1, kMostSeconds, 60));
        is_shared_ = settings.flag("shared", "shared = false").value_or(true);
        file_bytes_ = number("file_bytes", 1, kMostFileBytes, 64 << 20);
        at_once_ = number("at_once", 1, allocation_options_ ? kMostSteps : kMostJobs, 50);
    }

    // On the node the tool has a folder of its own.
    static std::string take_output_folder(Texts& environment) {
        constexpr std::string_view kName = "NARRATORIA_OUTPUT_DIR=";
        for (auto each = environment.begin(); each != environment.end(); ++each) {
            if (!each->starts_with(kName)) continue;
            const std::string folder = each->substr(kName.size());
            environment.erase(each);
            return folder;
        }
        return {};
    }

    // Slurm's programs find the cluster as they do for the player, also if tools get an environment
    // of their own.
    static void add_configuration(Texts& environment) {
        constexpr std::string_view kName = "SLURM_CONF=";
        for (const std::string& each : environment) {
            if (each.starts_with(kName)) return;
        }
        const char* const configuration = std::getenv("SLURM_CONF");
        if (configuration != nullptr) environment.push_back(std::string(kName) + configuration);
    }

    // ---- turns

    void give_turns() {
        while (with_turn_ < at_once_ && !waiting_.empty()) {
            const std::shared_ptr<Run> run = runs_.at(waiting_.front());
            waiting_.pop_front();
            run->has_turn = true;
            ++with_turn_;
            try {
                place(run);
            } catch (const narratoria::Error& error) {
                end_unstarted(*run, error);
            }
        }
    }

    void place(const std::shared_ptr<Run>& run) {
        if (!allocation_options_) {
            run->allocation =
                allocate(run->name, run->options, run->environment, run->invocation.token());
        } else if (!shared_) {
            shared_ =
                allocate(owner_.job_name("session"), *allocation_options_, run->environment, {});
        } else if (shared_->is_running()) {
            launch(*run, shared_->job());
        }
    }

    // A program of Slurm could not be started.
    void end_unstarted(Run& run, const narratoria::Error& error) {
        run.lost.is_permanent = error.status() == NAR_NOT_FOUND;
        plugin::ProcessExit failed;
        failed.error_code = "SPAWN_FAILED";
        failed.error = std::string(error.message());
        end(run, failed);
    }

    // ---- allocations

    // `token`: of the run that has the allocation for itself; nothing: it is the shared one.
    std::unique_ptr<Allocation> allocate(const std::string& name, const Texts& options,
                                         const Texts& environment,
                                         std::optional<std::uint64_t> token) {
        // Those of now: a function may give others their turn.
        const auto each = [this, token](const auto& function) {
            std::vector<std::shared_ptr<Run>> its;
            for (const auto& [own, run] : runs_) {
                if (token ? own == *token : run->has_turn) its.push_back(run);
            }
            for (const auto& run : its) function(*run);
        };
        Allocation::Events events;
        events.on_running = [this, each, token] {
            each([&](Run& run) {
                if (!run.step) launch(run, (token ? run.allocation : shared_)->job());
            });
        };
        events.on_pending = [this, each, token](const std::string& reason,
                                                std::optional<double> progress) {
            each([&](Run& run) {
                say(run,
                    "job " + std::to_string((token ? run.allocation : shared_)->job()) +
                        " of Slurm is pending: " + reason,
                    "info", progress);
            });
        };
        events.on_lost = [this, each, token](const Allocation::Loss& loss) {
            // This is the last use of the allocation.
            const auto lost = token ? nullptr : std::move(shared_);
            each([&](Run& run) {
                run.lost = loss;
                // srun would wait for the answer of a node that is down.
                if (run.step) run.step->terminate();
                else end(run, {});
            });
        };
        return std::make_unique<Allocation>(host_, queue_,
                                            Allocation::Request{name, options, environment, lease_},
                                            std::move(events));
    }

    void release_when_idle() {
        if (!shared_ || !runs_.empty()) return;
        idle_ = plugin::Timer(host_, idle_time_, [this] { shared_.reset(); });
    }

    // ---- a step

    void launch(Run& run, std::uint64_t job) {
        run.job = job;
        Step::Request request{
            job,        {},          run.limits,        run.path,   run.environment,
            run.folder, run.request, run.output_folder, file_bytes_};
        if (!run.allocation) {
            // Several steps at a time; srun waits until the resources of this one are free.
            request.options.push_back("--exact");
            append(request.options, run.options);
        }
        const auto call = [this, token = run.invocation.token()](auto function) {
            const auto found = runs_.find(token);
            if (found == runs_.end()) return;
            const std::shared_ptr<Run> kept = found->second;
            function(*kept);
        };
        Step::Events events;
        events.on_pending = [call, job](const std::string& reason) {
            call([&](Run& its) {
                say(its,
                    "a step of job " + std::to_string(job) + " of Slurm is pending: " + reason);
            });
        };
        events.on_started = [this, call] {
            call([this](Run& its) {
                its.invocation.set_waiting(false);
                check_output_folder(its);
            });
        };
        events.on_output = [this, call](std::string_view bytes) {
            call([&](Run& its) {
                its.has_output = true;
                its.waiting_output += bytes;
                give_output(its);
            });
        };
        events.on_diagnostics = [call](std::string_view bytes) {
            call([&](Run& its) { its.invocation.diagnostics(bytes); });
        };
        events.on_exit = [this, call](const plugin::ProcessExit& exit) {
            call([&](Run& its) { end(its, exit); });
        };
        try {
            run.step = std::make_unique<Step>(host_, request, std::move(events));
        } catch (const narratoria::Error& error) {
            end_unstarted(run, error);
        }
    }

    // The session has created the folder on this machine before the tool's start.
    void check_output_folder(Run& run) {
        const std::string& node = run.step->node();
        if (!is_shared_ || node.empty() || run.step->has_output_folder()) return;
        if (!nodes_without_folder_.insert(node).second) return;
        say(run,
            "the node " + node +
                " does not see the output folder, so files that tools write there are lost; set "
                "TMPDIR to a folder that the nodes share, or write in story.toml under "
                "[plugins.\"" +
                std::string(kId) + "\"]: shared = false",
            "warn");
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

    static void say(Run& run, const std::string& message, std::string_view level = "info",
                    std::optional<double> progress = {}) {
        if (run.has_output) return;
        std::string event = R"({"version":"0","type":"log","level":)" + plugin::quoted(level) +
                            R"(,"message":)" + plugin::quoted(message);
        // Not std::to_string, which writes the locale's decimal point.
        if (progress) {
            const auto percent = static_cast<unsigned>(*progress * 100);
            event += R"(,"fields":{"progress":)" + std::to_string(percent) + "e-2}";
        }
        run.invocation.event(event + "}");
    }

    void end(Run& run, const plugin::ProcessExit& exit) {
        // The most exact reason: what the supervisor of srun reports, what srun says, how the job
        // ended.
        std::string code = exit.error_code, reason = exit.error;
        if (code.empty() && run.step) {
            code = run.step->messages().code();
            reason = run.step->messages().reason();
        }
        const bool is_refused = run.step && !run.step->has_started() && exit.status > 0;
        if (code.empty() && run.lost.code.empty() && is_refused) {
            code = "ALLOCATION_FAILED";
            reason = run.step->messages().first();
        }
        // 255: the options are wrong.
        bool is_final = run.lost.is_permanent || code == "FILES_TOO_LARGE" ||
                        (code == "ALLOCATION_FAILED" &&
                         (is_permanent(reason) || (is_refused && exit.status == 255)));
        if (!run.lost.code.empty() && (code.empty() || code == "JOB_CANCELLED")) {
            code = run.lost.code;
            reason = run.lost.reason;
        }
        // Statuses of the shell for a program that is not there, or is not executable.
        if (code.empty() && !run.has_output && run.step &&
            (exit.status == 127 || exit.status == 126)) {
            code = "SPAWN_FAILED";
            is_final = true;
            reason = "the node " + run.step->node() + " cannot run " + run.path +
                     "; check that the file is there and executable, and that the nodes share its "
                     "folder";
        }
        if (run.is_cancelled) code.clear();
        // The queue would report it later; the next attempt gets a new allocation.
        if (code == "ALLOCATION_LOST" && shared_ && shared_->job() == run.job) shared_.reset();
        plugin::End end;
        end.exit_status = exit.status >= 0 ? exit.status : 128 + static_cast<int>(exit.signal);
        end.error_code = code;
        end.error = reason;
        end.is_permanent = is_final;
        const std::string details = run.step ? run.step->details() : std::string();
        end.details = details;
        if (run.step) {
            end.user_time = run.step->user_time();
            end.system_time = run.step->system_time();
            end.resident_bytes = run.step->resident_bytes();
        }
        end.last_output = run.waiting_output;
        // Ends the job, if it is this run's own.
        const std::shared_ptr<Run> last = std::move(runs_.extract(run.invocation.token()).mapped());
        if (last->has_turn) --with_turn_;
        else std::erase(waiting_, last->invocation.token());
        last->invocation.ended(end);
        give_turns();
        release_when_idle();
    }

    plugin::Host host_;
    std::string fault_;
    Texts options_;
    plugins::NamedCommands profiles_;
    std::optional<Texts> allocation_options_;
    std::chrono::milliseconds lease_{60'000};
    std::chrono::milliseconds idle_time_{60'000};
    bool is_shared_ = true;
    std::uint64_t file_bytes_ = 64 << 20;
    const Owner owner_ = Owner::of_this_process();
    Queue queue_;
    LeftJobs left_jobs_;
    std::unique_ptr<Allocation> shared_;
    std::map<std::uint64_t, std::shared_ptr<Run>> runs_;
    std::uint64_t at_once_ = 50;
    std::uint64_t with_turn_ = 0;
    std::deque<std::uint64_t> waiting_;           // for their turn
    std::set<std::string> nodes_without_folder_;  // that were reported
    plugin::Timer retry_;
    plugin::Timer idle_;
};

}  // namespace
}  // namespace narratoria::slurm

using Slurm = narratoria::slurm::Slurm;
NARRATORIA_PLUGIN(Slurm, "narratoria.slurm", "Slurm", "1.0.0", "narratoria.tool_runner/1");
