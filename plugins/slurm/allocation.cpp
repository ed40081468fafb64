// SPDX-License-Identifier: Apache-2.0
#include "slurm/allocation.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "slurm/messages.hpp"

namespace narratoria::slurm {
namespace {

// The first lease of a job is shorter: its host may be gone since it was submitted. Renewals are more
// frequent than even that, because the first one can be too early for the script.
constexpr std::chrono::seconds kFirstLease(30);
constexpr std::chrono::seconds kRenewal(20);

// A signal interrupts `wait`, and the time begins again. The first one comes when the job runs, which
// may be before its script has set the trap; URG does nothing then.
std::string lease_script(std::chrono::milliseconds lease) {
    const auto seconds = [](std::chrono::milliseconds time) {
        return std::to_string((time.count() + 999) / 1000);
    };
    return "#!/bin/sh\n"
           "trap 'renewed=1' URG\n"
           "lease=" +
           seconds(std::min<std::chrono::milliseconds>(lease / 2, kFirstLease)) +
           "\nwhile :; do renewed=; sleep $lease & wait $!; [ \"$renewed\" ] || exit 1; lease=" +
           seconds(lease) + "; done\n";
}

constexpr const char* kKeeper =
    "trap '' TERM\n"
    "while read -r _; do scancel --quiet --signal=URG --batch \"$1\"; done\n"
    "exec scancel --quiet \"$1\"\n";
// The keeper's last command needs some milliseconds.
constexpr std::uint32_t kGraceMs = 5000;

// The first line of what sbatch wrote, without its own name.
std::string first_line(std::string_view text) {
    text = text.substr(0, text.find('\n'));
    for (const std::string_view prefix : {"sbatch: ", "error: "}) {
        if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
    }
    return std::string(text);
}

// True for the reasons of a job that waits for what no node of its partition has, or that it may
// not have. They are not given while nodes are drained or down; those of such a job may pass:
// "ReqNodeNotAvail", "Nodes required for job are DOWN …", "PartitionNodeLimit".
bool is_hopeless(std::string_view reason) {
    for (const std::string_view each :
         {"PartitionConfig", "PartitionTimeLimit", "BadConstraints", "InvalidAccount", "InvalidQOS",
          "DependencyNeverSatisfied", "Job's account not "}) {
        if (reason.starts_with(each)) return true;
    }
    return false;
}

const char* code_of(std::string_view state) {
    if (state == "TIMEOUT" || state == "DEADLINE") return "TIMEOUT";
    if (state == "OUT_OF_MEMORY") return "OUT_OF_MEMORY";
    if (state == "NODE_FAIL" || state == "BOOT_FAIL") return "NODE_FAILED";
    if (state == "PREEMPTED") return "PREEMPTED";
    // The script has ended.
    if (state == "FAILED") return "ALLOCATION_LOST";
    return "JOB_CANCELLED";
}

}  // namespace

Allocation::Allocation(const plugin::Host& host, Queue& queue, Request request, Events events)
    : host_(host), queue_(queue), request_(std::move(request)), events_(std::move(events)) {
    plugin::Program program;
    program.arguments = {"sbatch", "--parsable", "--no-requeue", "--output=/dev/null",
                         "--job-name=" + request_.name};
    program.arguments.insert(program.arguments.end(), request_.options.begin(),
                             request_.options.end());
    program.environment = request_.environment;
    plugin::ProcessEvents of_submission;
    of_submission.on_output = [this](std::string_view bytes) { job_text_ += bytes; };
    of_submission.on_diagnostics = [this](std::string_view bytes) { errors_ += bytes; };
    of_submission.on_exit = [this](const plugin::ProcessExit& exit) { accept(exit); };
    submission_ = plugin::Process(host_, program, std::move(of_submission));
    submission_.write(lease_script(request_.lease));
    submission_.close_input();
}

Allocation::~Allocation() {
    if (job_ != 0) queue_.forget(job_);
    keeper_.close_input();
    // An sbatch that has not answered yet may have submitted a job: its lease ends it.
    keeper_.release(kGraceMs);
}

void Allocation::accept(const plugin::ProcessExit& exit) {
    // "17" or "17;cluster"
    std::from_chars(job_text_.data(), job_text_.data() + job_text_.size(), job_);
    if (exit.status != 0 || job_ == 0) {
        const std::string reason = !exit.error.empty() ? exit.error : first_line(errors_);
        // 255: the options are wrong.
        const bool is_final = exit.status == 255 || is_permanent(errors_);
        const auto on_lost = events_.on_lost;
        return on_lost({"ALLOCATION_FAILED", "sbatch: " + reason, is_final});
    }
    plugin::Program program;
    program.arguments = {"sh", "-c", kKeeper, "sh", std::to_string(job_)};
    program.environment = request_.environment;
    try {
        keeper_ = plugin::Process(host_, program, {});
    } catch (const narratoria::Error& error) {
        // Without a keeper the lease runs out.
        const std::string reason(error.message());
        const auto on_lost = events_.on_lost;
        return on_lost({"ALLOCATION_FAILED", reason});
    }
    queue_.watch(job_, request_.environment, [this](const JobState& state) { take(state); });
}

void Allocation::renew() {
    keeper_.write("\n");
    next_renewal_ =
        plugin::Timer(host_, std::min<std::chrono::milliseconds>(request_.lease / 3, kRenewal),
                      [this] { renew(); });
}

void Allocation::take_pending(const JobState& state) {
    if (state.reason == "None") return;
    const std::uint64_t before = state.jobs_before;
    most_jobs_before_ = std::max(most_jobs_before_, before);
    std::string reason = state.reason;
    std::optional<double> progress;
    // Zero may also mean that other users' jobs are hidden.
    if (before == 1) reason += "; 1 job is before it";
    if (before > 1) reason += "; " + std::to_string(before) + " jobs are before it";
    if (most_jobs_before_ > 0) {
        progress = static_cast<double>(most_jobs_before_ - before) /
                   static_cast<double>(most_jobs_before_);
    }
    if (reason == shown_reason_) return;
    shown_reason_ = reason;
    const auto on_pending = events_.on_pending;
    on_pending(reason, progress);
}

void Allocation::take(const JobState& state) {
    if (!is_running_ && is_hopeless(state.reason)) {
        const auto on_lost = events_.on_lost;
        return on_lost({"ALLOCATION_FAILED",
                        "job " + std::to_string(job_) + " of Slurm can never run: " + state.reason +
                            "; ask for what the partition has",
                        true});
    }
    if (state.state == "PENDING" || state.state == "CONFIGURING") {
        return take_pending(state);
    }
    if (state.state == "RUNNING" || state.state == "COMPLETING") {
        if (std::exchange(is_running_, true)) return;
        // Not before: scancel would try for seconds to signal a job that is pending.
        renew();
        const auto on_running = events_.on_running;
        return on_running();
    }
    is_running_ = false;
    const auto on_lost = events_.on_lost;
    on_lost({code_of(state.state),
             "job " + std::to_string(job_) + " of Slurm has ended: " +
                 (state.state.empty()       ? std::string("it is not in the queue")
                  : state.state == "FAILED" ? std::string("its lease may have run out")
                                            : state.state)});
}

}  // namespace narratoria::slurm
