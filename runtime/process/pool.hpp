// SPDX-License-Identifier: Apache-2.0
#pragma once
// Starts programs. Each runs under its own supervisor process, taken from a pool;
// supervisor/supervisor.c explains why. The supervisors are children of the engine's reaper process,
// see reaper.hpp.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/guarantees.hpp"
#include "base/loop.hpp"
#include "process/control_groups.hpp"
#include "process/process.hpp"
#include "process/sandbox.hpp"
#include "process/sandbox_probes.hpp"
#include "process/start_failure.hpp"

namespace narratoria::process {

class Reaper;
struct SupervisorReport;

// The supervisors of one engine. A supervisor starts on demand and is reused for later invocations.
// Must outlive its processes. Engine thread only.
class Pool {
public:
    // `supervisor_path`: the supervisor program; empty: the one embedded in the library.
    Pool(Loop& loop, std::string supervisor_path);
    // Sets the callback for warnings about the machine. Each warning is reported once.
    void set_on_warning(std::function<void(std::string_view)> on_warning) {
        on_warning_ = std::move(on_warning);
    }
    // Immediately kills every running process, except those given to finish() and those in the
    // grace period of end() or terminate(), for which it waits. Blocks until all supervisors have
    // gone; a bound applies to all of them together.
    ~Pool();

    // Starts supervisors until `count` are idle, and keeps that number from now on. Returns false
    // and sets `failure` if one cannot be started.
    bool prepare(size_t count, StartFailure& failure);

    // Gives each later invocation its own control group in this cgroup2 folder. Call before
    // the first start(). Creates one group as a test; on failure returns false and sets `why`.
    bool use_groups(const std::string& folder, std::string& why);
    // Call before the first command with these group limits. Returns false and sets `why` if they
    // cannot be enforced.
    bool enable_limits(Controllers wanted, std::string& why);

    // Returns how this machine enforces the guarantee. The first call for a guarantee tests it in a
    // sandbox and blocks for some milliseconds.
    const Enforcement& enforcement(Guarantee guarantee) {
        StartFailure failure;
        return probes_.enforcement_of(sandbox_bits(guarantee), failure);
    }
    // Returns JSON in the format of attempts[].guarantees.
    std::string receipts(const Guarantees& guarantees) { return probes_.receipts(guarantees); }

    // Returns NULL and sets `failure` if the program could not be started.
    std::unique_ptr<Process> start(const Command& command, Listener& listener,
                                   StartFailure& failure);

    // Ends a process without its listener: closes its input and calls terminate(). Its output is
    // drained and dropped until it exits, so it never blocks on a full pipe.
    void end(std::unique_ptr<Process> process, uint32_t grace_ms);

    // Detaches the listener and lets the process continue for at most `patience_ms`. The pool's
    // destructor waits for it.
    void finish(std::unique_ptr<Process> process, uint32_t patience_ms);

    // Immediately kills everything started for this owner, including descendants of processes
    // already destroyed.
    void end_all_of(const void* owner);

    // The number of invocations that have not ended, including those of destroyed processes, plus
    // discarded supervisors that have not exited. A service counts only while it is being ended. At
    // 0 no process of these is left.
    size_t busy() const { return busy_ + leaving_.size(); }

    Loop& loop() { return loop_; }

private:
    friend class Process;
    friend class Supervisor;

    // The command already has the path, arguments and environment of `sandboxed`. NULL: no sandbox.
    std::unique_ptr<Process> start_as_given(const Command& command, const Sandboxed* sandboxed,
                                            Listener& listener, StartFailure& failure);
    Supervisor* take(StartFailure& failure);
    Supervisor* start_supervisor(StartFailure& failure);
    Supervisor* find(uint32_t id) const;
    void give_back(Supervisor* supervisor);
    void count_as_busy(Supervisor& supervisor);
    void discard(Supervisor* supervisor);
    void on_answer(const Supervisor& supervisor);
    void on_closed(Supervisor& supervisor);
    void lose(Supervisor& supervisor, const SupervisorReport* report);
    void warn_left_behind(uint32_t left);
    void warn_of_short_secret(const std::string& name);
    // Returns the reason why supervisors cannot run; empty if the last reaper that ended was
    // killed.
    std::string why_no_supervisor() const;
    bool start_reaper(StartFailure& failure);
    void on_report(const SupervisorReport& report);
    void on_reaper_lost();
    void await_report();
    void check_overdue();
    void press(Supervisor& supervisor);
    void end_stuck(Supervisor& supervisor, bool has_reaper);
    bool try_group(Controllers limited, std::string& why);
    // Implements SandboxProbes::Run.
    bool run_probe(const Sandboxed& sandboxed, supervisor_ended& ended, std::string& output,
                   StartFailure& failure);

    Loop& loop_;
    std::string supervisor_path_;
    SandboxProbes probes_;
    std::function<void(std::string_view)> on_warning_;
    uint32_t warned_left_behind_ = 0;  // bits: 1 << reaper_left
    std::set<std::string> warned_short_secrets_;
    // Exit status of the last reaper, if it exited by itself before a supervisor had answered.
    std::optional<int> reaper_status_;
    uint32_t answered_ = 0;  // the last generation of which a supervisor has answered
    ControlGroups groups_;
    Controllers tried_;  // controllers for which a test group succeeded
    std::unique_ptr<Reaper> reaper_;
    // The number of reapers so far. A supervisor of an earlier one gets no report.
    uint32_t generation_ = 0;
    uint32_t last_id_ = 0;
    // Runs while a report is awaited. On timeout the reaper is killed.
    Timer patience_;
    // Runs while supervisors owe the end of an invocation.
    Timer look_;
    size_t owing_ = 0;
    std::vector<std::unique_ptr<Supervisor>> all_;
    std::vector<Supervisor*> idle_;
    size_t kept_idle_;
    class Ending;
    std::vector<std::unique_ptr<Ending>> ending_;  // processes given to end()
    std::vector<uint32_t> leaving_;  // discarded supervisors that were not reported yet
    size_t busy_ = 0;
};

}  // namespace narratoria::process
