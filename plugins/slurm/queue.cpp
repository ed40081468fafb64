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

}  // namespace

void Queue::watch(std::uint64_t job, const std::vector<std::string>& environment,
                  std::function<void(const JobState& state)> on_state) {
    environment_ = environment;
    jobs_[job] = std::move(on_state);
    next_ = plugin::Timer(host_, kFirst, [this] { ask(); });
}

void Queue::ask() {
    if (jobs_.empty() || question_.is_running()) return;
    std::string list;
    asked_.clear();
    for (const auto& [job, function] : jobs_) {
        asked_.push_back(job);
        list += (list.empty() ? "" : ",") + std::to_string(job);
    }
    answer_.clear();
    plugin::Program program;
    program.arguments = {"squeue", "--noheader", "--states=all", "--jobs=" + list,
                         "--format=%i %T %r"};
    program.environment = environment_;
    plugin::ProcessEvents events;
    events.on_output = [this](std::string_view bytes) { answer_ += bytes; };
    events.on_exit = [this](const plugin::ProcessExit& exit) {
        take_answer(exit.status == 0);
        if (!jobs_.empty()) next_ = plugin::Timer(host_, kNext, [this] { ask(); });
    };
    try {
        question_ = plugin::Process(host_, program, std::move(events));
    } catch (const narratoria::Error&) {
        // Too many processes or descriptors at the moment.
        next_ = plugin::Timer(host_, kNext, [this] { ask(); });
    }
}

// Lines "17 PENDING Resources". A job that ended a while ago is not listed any more.
void Queue::take_answer(bool is_complete) {
    std::map<std::uint64_t, JobState> states;
    for (std::string_view rest = answer_; !rest.empty();) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        const std::size_t state = line.find(' ');
        if (state == line.npos) continue;
        const std::size_t reason = std::min(line.find(' ', state + 1), line.size());
        states[std::strtoull(line.data(), nullptr, 10)] = {
            std::string(line.substr(state + 1, reason - state - 1)),
            std::string(line.substr(std::min(reason + 1, line.size())))};
    }
    for (const std::uint64_t job : std::exchange(asked_, {})) {
        const auto watched = jobs_.find(job);
        const auto found = states.find(job);
        if (watched == jobs_.end() || (found == states.end() && !is_complete)) continue;
        const auto function = watched->second;
        function(found != states.end() ? found->second : JobState());
    }
}

}  // namespace narratoria::slurm
