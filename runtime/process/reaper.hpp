// SPDX-License-Identifier: Apache-2.0
#pragma once
// The library's side of the reaper, the parent process of an engine's supervisors
// (supervisor/reaper.c). The reaper starts them, kills the processes that a killed supervisor
// leaves behind, and reports each supervisor that has ended.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/descriptor.hpp"
#include "base/lifetime.hpp"
#include "base/loop.hpp"
#include "process/control_groups.hpp"

namespace narratoria::process {

struct StartFailure;

// Reports that a supervisor has been started, or that it has ended. After its end no process of it
// is left, unless `left_behind` says otherwise.
struct SupervisorReport {
    uint32_t id = 0;
    pid_t started = 0;         // its process id; 0: it has ended
    bool stopped = false;      // it was stopped, so the reaper killed it
    int start_error = 0;       // errno; not 0: it was never started
    uint32_t left_behind = 0;  // a reaper_left
};

// One reaper process, which runs until the destructor. Engine thread only. The callbacks run in the
// loop and in read(); they may destroy this object.
class Reaper {
public:
    // `supervisor_path`: as for Pool. Returns NULL and sets `failure` if it could not be started.
    static std::unique_ptr<Reaper> start(Loop& loop, const std::string& supervisor_path,
                                         StartFailure& failure);
    // Ends the reaper and blocks until it has exited, after all its supervisors. Kills it if that
    // takes longer than an unkillable process justifies.
    ~Reaper();
    Reaper(const Reaper&) = delete;
    Reaper& operator=(const Reaper&) = delete;

    std::function<void(const SupervisorReport&)> on_report;
    std::function<void()> on_lost;  // the reaper has ended; no reports follow

    // Asks for a supervisor. `socket` is the supervisor's end; the caller may close it afterwards.
    // Returns 0 or errno; EPIPE: the reaper has ended.
    int start_supervisor(uint32_t id, const Descriptor& socket, const ControlGroups& groups);

    // Sends SIGCONT: a tool can stop the reaper with SIGSTOP, and it must run to end a stopped
    // supervisor.
    void wake() const;

    // Reads the reports that have arrived.
    void read();

    // Kills the reaper. Its supervisors notice and end their invocations.
    void kill() const;

    bool has_exited() const;

    // Kills the reaper if it still runs and blocks until it has exited. Returns its exit status if
    // it had exited by itself; nothing if it was killed, or if the host has reaped it first.
    std::optional<int> end() const;

private:
    Reaper(Loop& loop, Descriptor socket, Descriptor process);

    Descriptor socket_;
    Descriptor process_;  // pidfd
    Watch watch_;
    Lifetime lifetime_;
};

}  // namespace narratoria::process
