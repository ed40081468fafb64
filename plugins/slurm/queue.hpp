// SPDX-License-Identifier: Apache-2.0
#pragma once
// Watches jobs in Slurm's queue. One squeue asks for all of them, and now and then, while one is
// pending, another for the order of the queue.

#include <narratoria/plugin.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace narratoria::slurm {

struct JobState {
    std::string
        state;  // as squeue writes it, for example "PENDING"; empty: the job has left the queue
    std::string reason;  // why it is pending, for example "Resources"
    // The number of pending jobs of its partition that have a higher priority; 0 also if unknown.
    std::uint64_t jobs_before = 0;
};

// Belongs to one plugin instance. Engine thread only.
class Queue {
public:
    explicit Queue(const plugin::Host& host) : host_(host) {}

    // Calls `on_state` with the state of the job, soon and then every two seconds, until forget()
    // is called. `environment`: of squeue; that of the last call is used for all jobs. `on_state`
    // may call forget().
    void watch(std::uint64_t job, const std::vector<std::string>& environment,
               std::function<void(const JobState& state)> on_state);
    void forget(std::uint64_t job) { jobs_.erase(job); }

private:
    plugin::Process ask_squeue(std::vector<std::string> arguments,
                               std::function<void(bool is_complete)> on_answer);
    void ask();
    void ask_order();
    void take_answer(bool is_complete);
    void take_order();
    void tell();

    plugin::Host host_;
    std::vector<std::string> environment_;
    std::map<std::uint64_t, std::function<void(const JobState& state)>> jobs_;
    std::vector<std::uint64_t> asked_;          // in the running question
    std::map<std::uint64_t, JobState> states_;  // its answer
    std::map<std::uint64_t, std::uint64_t> jobs_before_;
    unsigned answers_until_order_ = 0;
    plugin::Process question_;
    std::string answer_;
    plugin::Timer next_;
};

}  // namespace narratoria::slurm
