// SPDX-License-Identifier: Apache-2.0
#pragma once
// A job that holds resources of the cluster, in which steps run.
//
// The job is a batch script that ends unless its lease is renewed in time. So nothing stays on the
// cluster when the host dies, in whatever way: srun does not end a job whose processes were killed
// together.

#include <narratoria/plugin.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "slurm/queue.hpp"

namespace narratoria::slurm {

// Engine thread only.
class Allocation {
public:
    struct Request {
        std::string name;                      // of the job
        std::vector<std::string> options;      // of sbatch
        std::vector<std::string> environment;  // of Slurm's programs
        std::chrono::milliseconds lease{60'000};
    };
    // Why a run has no allocation.
    struct Loss {
        std::string code;  // of the failed attempt
        std::string reason;
        bool is_permanent = false;  // a later allocation fails, too
    };
    // Each may destroy the allocation.
    struct Events {
        std::function<void()> on_running;
        // The job waits for this reason; called when the reason changes. `progress`: the share of the
        // jobs that were before it and no longer are, if the number is known.
        std::function<void(const std::string& reason, std::optional<double> progress)> on_pending;
        // It was refused, or has ended.
        std::function<void(const Loss& loss)> on_lost;
    };

    // Submits the job. `queue` must outlive the allocation.
    Allocation(const plugin::Host& host, Queue& queue, Request request, Events events);
    // Ends the job, with all steps.
    ~Allocation();
    Allocation(const Allocation&) = delete;
    Allocation& operator=(const Allocation&) = delete;

    std::uint64_t job() const { return job_; }  // 0: it was not accepted yet
    bool is_running() const { return is_running_; }

private:
    void accept(const plugin::ProcessExit& exit);
    void take(const JobState& state);
    void take_pending(const JobState& state);
    void renew();

    plugin::Host host_;
    Queue& queue_;
    const Request request_;
    const Events events_;
    plugin::Process submission_;
    std::string job_text_;  // what sbatch printed
    std::string errors_;
    std::uint64_t job_ = 0;
    bool is_running_ = false;
    std::string shown_reason_;
    std::uint64_t most_jobs_before_ = 0;
    // Renews the lease for each line that it gets, and ends the job at the end of its input: also
    // when the instance ends.
    plugin::Process keeper_;
    plugin::Timer next_renewal_;
};

}  // namespace narratoria::slurm
