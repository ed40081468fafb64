// SPDX-License-Identifier: Apache-2.0
#pragma once
// The library's side of the reaper, the parent process of an engine's supervisors
// (supervisor/reaper.c). It starts them, ends what a killed one leaves behind, and reports each that
// has gone.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/descriptor.hpp"
#include "base/loop.hpp"
#include "process/control_groups.hpp"

namespace narratoria::process {

struct StartFailure;

// A supervisor has been started; or it has ended, and nothing that it left behind lives, unless
// `left_behind` says otherwise.
struct SupervisorReport {
    uint32_t id = 0;
    pid_t started = 0;         // its process; 0: it has ended
    bool stopped = false;      // somebody stopped it, so the reaper killed it
    int start_error = 0;       // errno; not 0: it was never started
    uint32_t left_behind = 0;  // a reaper_left
};

// One reaper process, which runs until the destructor. Engine thread only. Its callbacks come from
// the loop and from read(); they may destroy it.
class Reaper {
public:
    // `supervisor_path`: as for Pool. NULL with `failure` set if it could not be started.
    static std::unique_ptr<Reaper> start(Loop& loop, const std::string& supervisor_path,
                                         StartFailure& failure);
    // Ends it and waits until it has exited, which it does when all its supervisors have. Kills it
    // if that takes longer than an unkillable process justifies.
    ~Reaper();
    Reaper(const Reaper&) = delete;
    Reaper& operator=(const Reaper&) = delete;

    std::function<void(const SupervisorReport&)> on_report;
    std::function<void()> on_lost;  // it has ended: no report will come

    // Asks for a supervisor. `socket` is the supervisor's end; the caller may close it afterwards.
    // Returns 0 or errno; EPIPE: the reaper has ended.
    int start_supervisor(uint32_t id, const Descriptor& socket, const ControlGroups& groups);

    // A tool can stop the reaper with SIGSTOP. It must run to end a stopped supervisor.
    void wake() const;

    // Reads the reports that have arrived.
    void read();

    // Kills it. Its supervisors notice and end their invocations.
    void kill() const;

    // True if its process has exited.
    bool has_exited() const;

    // Kills it if it still runs, and waits until it has exited. Returns its exit status if it had
    // exited by itself; nothing if it was killed, or if the host has reaped it first.
    std::optional<int> end() const;

private:
    Reaper(Loop& loop, Descriptor socket, Descriptor process);

    Descriptor socket_;
    Descriptor process_;  // pidfd
    Watch watch_;
    bool* destroyed_ = nullptr;  // see DestructionWatch
};

}  // namespace narratoria::process
