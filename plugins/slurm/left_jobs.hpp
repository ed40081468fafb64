// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ends jobs of hosts that were killed. Nothing renews the lease of such a job, but it could stay in
// the queue for long before its lease begins.

#include <narratoria/plugin.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace narratoria::slurm {

// The host process that a job belongs to. It is the end of the job's name.
struct Owner {
    std::string machine;        // identifies this boot and this process namespace
    std::uint64_t process = 0;  // the process id
    std::uint64_t started = 0;  // its start time in the unit of /proc/PID/stat; 0: unknown

    static Owner of_this_process();
    // "narratoria-WHAT-MACHINE-PROCESS-START"
    std::string job_name(std::string_view what) const;
    // True if `name` is that of a job of this machine, and its host no longer runs.
    bool is_left_behind(std::string_view name) const;
};

// Engine thread only.
class LeftJobs {
public:
    explicit LeftJobs(const plugin::Host& host) : host_(host) {}
    ~LeftJobs();
    LeftJobs(const LeftJobs&) = delete;
    LeftJobs& operator=(const LeftJobs&) = delete;

    // Begins to end them; only the first call has an effect. `environment`: of Slurm's programs.
    void remove(const Owner& self, const std::vector<std::string>& environment);

private:
    void cancel(const Owner& self, const std::vector<std::string>& environment);

    plugin::Host host_;
    bool was_called_ = false;
    plugin::Process list_;
    std::string listed_;
    plugin::Process cancellation_;
};

}  // namespace narratoria::slurm
