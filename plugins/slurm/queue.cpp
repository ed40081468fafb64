// SPDX-License-Identifier: Apache-2.0
#include "slurm/queue.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace narratoria::slurm {
namespace {

// The controller starts most jobs at once; those that wait, wait long.
constexpr std::chrono::milliseconds kFirst(20);
constexpr std::chrono::milliseconds kNext(2000);
// The order is an answer about all pending jobs, which can be tens of thousands.
constexpr unsigned kAnswersPerOrder = 4;

// Removes the first line from `text` and returns it without its end.
std::string_view take_line(std::string_view& text) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    return line;
}

}  // namespace

void Queue::watch(std::uint64_t job, const std::vector<std::string>& environment,
                  std::function<void(const JobState& state)> on_state) {
    environment_ = environment;
    jobs_[job] = std::move(on_state);
    next_ = plugin::Timer(host_, kFirst, [this] { ask(); });
}

plugin::Process Queue::ask_squeue(std::vector<std::string> arguments,
                                  std::function<void(bool is_complete)> on_answer) {
    answer_.clear();
    plugin::Program program;
    program.arguments = {"squeue", "--noheader"};
    program.arguments.insert(program.arguments.end(), arguments.begin(), arguments.end());
    program.environment = environment_;
    plugin::ProcessEvents events;
    events.on_output = [this](std::string_view bytes) { answer_ += bytes; };
    events.on_exit = [on_answer = std::move(on_answer)](const plugin::ProcessExit& exit) {
        on_answer(exit.status == 0);
    };
    return plugin::Process(host_, program, std::move(events));
}

void Queue::ask() {
    if (jobs_.empty() || question_.is_running()) return;
    std::string list;
    asked_.clear();
    for (const auto& [job, function] : jobs_) {
        asked_.push_back(job);
        list += (list.empty() ? "" : ",") + std::to_string(job);
    }
    try {
        question_ = ask_squeue({"--states=all", "--jobs=" + list, "--format=%i %T %r"},
                               [this](bool is_complete) { take_answer(is_complete); });
    } catch (const narratoria::Error&) {
        // Too many processes or descriptors at the moment.
        next_ = plugin::Timer(host_, kNext, [this] { ask(); });
    }
}

// Lines "17 PENDING Resources". A job that ended a while ago is not listed any more.
void Queue::take_answer(bool is_complete) {
    states_.clear();
    bool is_pending = false;
    for (std::string_view rest = answer_; !rest.empty();) {
        const std::string_view line = take_line(rest);
        const std::size_t state = line.find(' ');
        if (state == line.npos) continue;
        const std::size_t reason = std::min(line.find(' ', state + 1), line.size());
        JobState& found = states_[std::strtoull(line.data(), nullptr, 10)];
        found.state = line.substr(state + 1, reason - state - 1);
        found.reason = line.substr(std::min(reason + 1, line.size()));
        is_pending = is_pending || (found.state == "PENDING" && found.reason != "None");
    }
    if (is_complete) {
        for (const std::uint64_t job : asked_) states_.try_emplace(job);
    }
    if (is_pending && answers_until_order_ == 0) return ask_order();
    if (answers_until_order_ > 0) --answers_until_order_;
    tell();
}

void Queue::ask_order() {
    answers_until_order_ = kAnswersPerOrder;
    try {
        question_ = ask_squeue({"--states=PENDING", "--sort=-p,i", "--format=%i %P"},
                               [this](bool is_complete) {
                                   if (is_complete) take_order();
                                   tell();
                               });
    } catch (const narratoria::Error&) {
        tell();
    }
}

// Lines "17 main", the job that is next first.
void Queue::take_order() {
    jobs_before_.clear();
    std::map<std::string_view, std::uint64_t> counts;  // by partition
    for (std::string_view rest = answer_; !rest.empty();) {
        const std::string_view line = take_line(rest);
        const std::size_t space = std::min(line.find(' '), line.size());
        const std::uint64_t before = counts[line.substr(space)]++;
        const std::uint64_t job = std::strtoull(line.data(), nullptr, 10);
        // A job that may run in several partitions is listed once for each.
        if (states_.count(job) == 0) continue;
        const auto [known, is_new] = jobs_before_.emplace(job, before);
        if (!is_new) known->second = std::min(known->second, before);
    }
}

void Queue::tell() {
    const std::map<std::uint64_t, JobState> states = std::exchange(states_, {});
    for (auto [job, state] : states) {
        const auto watched = jobs_.find(job);
        if (watched == jobs_.end()) continue;
        const auto before = jobs_before_.find(job);
        if (before != jobs_before_.end()) state.jobs_before = before->second;
        const auto function = watched->second;
        function(state);
    }
    if (!jobs_.empty()) next_ = plugin::Timer(host_, kNext, [this] { ask(); });
}

}  // namespace narratoria::slurm
