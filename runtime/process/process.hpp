// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs programs as child processes: pipes, limits, exit. Each process runs under its own supervisor
// process, taken from a pool; supervisor/supervisor.c explains why. The supervisors are children of
// the engine's reaper process, see reaper.hpp. Everything here is for the engine thread only.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/descriptor.hpp"
#include "base/guarantees.hpp"
#include "base/loop.hpp"
#include "narratoria/limits.h"
#include "process/control_groups.hpp"
#include "process/input_pipe.hpp"
#include "process/redactor.hpp"
#include "process/sandbox.hpp"
#include "process/sandbox_probes.hpp"

namespace narratoria::process {

// UINT64_MAX means no limit. The limits of NAR_GROUP_LIMIT_LIST apply to all processes of an
// invocation together and require Pool::enable_limits.
struct Limits {
#define NARRATORIA_LIMIT(name, type, least, text) uint64_t name = UINT64_MAX;
    NAR_PROCESS_LIMIT_LIST(NARRATORIA_LIMIT)
    NAR_GROUP_LIMIT_LIST(NARRATORIA_LIMIT)
#undef NARRATORIA_LIMIT

    Controllers controllers() const {
        return {.processes = processes != UINT64_MAX, .memory = resident_bytes != UINT64_MAX};
    }
};

// Detects in a member function that its object was destroyed during a callback. `slot` is a member
// pointer that the destructor uses to report this. The end of the scope resets it.
class DestructionWatch {
public:
    explicit DestructionWatch(bool*& slot) : slot_(slot) { slot_ = &destroyed_; }
    ~DestructionWatch() {
        if (!destroyed_) slot_ = nullptr;
    }
    DestructionWatch(const DestructionWatch&) = delete;
    DestructionWatch& operator=(const DestructionWatch&) = delete;
    const bool& destroyed() const { return destroyed_; }

private:
    bool*& slot_;
    bool destroyed_ = false;
};

// The parameters of Pool::start. All strings are copied during the call.
struct Command {
    std::string path;  // absolute
    std::string folder;
    std::vector<std::string> arguments;                     // the first one is argv[0]
    const std::vector<std::string>* environment = nullptr;  // NAME=value
    std::string_view input;  // written to standard input, which is then closed
    // A service: its standard input stays open for Process::input() and `input` is ignored. It
    // counts as busy only while it is being ended.
    bool is_service = false;
    Limits limits;
    const Guarantees* guarantees = nullptr;              // enforced by a sandbox; NULL: none
    const std::vector<std::string>* readable = nullptr;  // paths that stay readable in a sandbox
    const void* owner = nullptr;                         // for Pool::end_all_of
};

// How a process exited.
struct Exit {
    bool started = false;
    std::string start_failure;  // a message; set if `started` is false
    std::string start_code = "SPAWN_FAILED";
    bool may_retry = true;       // as in StartFailure; set if `started` is false
    bool no_supervisor = false;  // as in StartFailure
    bool supervisor_lost = false;
    std::string loss;     // how the supervisor was lost; set if `supervisor_lost` is true
    int wait_status = 0;  // as returned by wait(2)
    bool ended_before_request = false;  // no request to end it had arrived before it ended
    std::string probable_cause;         // of exit status 127: the error in the script, or empty
    uint64_t user_us = 0;
    uint64_t system_us = 0;
    uint64_t resident_kb = 0;
    // Counters of its control group; 0 without one. protocol.h defines them.
    uint64_t refused_processes = 0;
    uint64_t memory_limit_hits = 0;
    uint64_t memory_kills = 0;
    // The following need a sandbox.
    std::string receipts;           // JSON, as in attempts[].guarantees; empty without a sandbox
    uint64_t refused_programs = 0;  // attempts to start a process or program
    uint64_t refused_sockets = 0;   // attempts to create a network socket
};

enum class Stream : uint8_t { Input, Output, Diagnostics };

// Receives the events of a process, from the loop. The process may be destroyed in any call. Must
// outlive the process.
class Listener {
public:
    virtual ~Listener() = default;
    // Bytes of standard output. The listener may modify them and read json::kPadding bytes after
    // them.
    virtual void on_output(char* data, size_t size) = 0;
    virtual void on_diagnostics(std::string_view data) = 0;
    // Services only. on_input_drained: all buffered input was written. on_closed: the service
    // closed a stream but still runs.
    virtual void on_input_drained() {}
    virtual void on_closed(Stream) {}
    // The last call: all descendants have ended and the pipes are drained.
    virtual void on_exit(const Exit& exit) = 0;
};

class Supervisor;
class Pool;
class Reaper;
struct SupervisorReport;

// One running program. Pool::start creates it, and on_exit is its last event. Destroying it earlier
// ends the program and all descendants; no listener call follows. The pool must outlive it.
class Process final : private InputPipe::Owner {
public:
    ~Process();  // immediately kills all remaining processes, unless terminate() was called
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    // Sends SIGTERM to the process and all its descendants, and SIGKILL after the grace period. 0:
    // immediate SIGKILL.
    void terminate(uint32_t grace_ms);

    // Lets the process survive the destruction of this object. The pool's destructor waits for it,
    // at most `patience_ms` from now.
    void outlive(uint32_t patience_ms);

    // Closes standard output; further output of the process is lost.
    void stop_reading();

    // Returns the input of a running service; otherwise NULL.
    InputPipe* input() { return input_.get(); }

    // The files and folders that a process under no_filesystem_read may read, with symbolic links
    // resolved at its start; NULL: all.
    const std::vector<std::string>* readable() const {
        return is_reading_limited_ ? &readable_ : nullptr;
    }

private:
    friend class Pool;
    friend class Supervisor;
    Process(Pool& pool, Listener& listener);

    void on_input_drained() override;
    void on_input_closed() override;
    void read_output();
    void read_diagnostics();
    void give_output(char* data, size_t size);
    void give_output(std::string& text);
    bool give_diagnostics(std::string_view data);
    bool give_rest();
    void on_ended(Exit exit);
    void finish_when_drained();
    void finish();

    Pool& pool_;
    Listener* listener_;
    Supervisor* supervisor_ = nullptr;
    std::unique_ptr<InputPipe> input_;
    Descriptor output_;
    Descriptor diagnostics_;
    Watch output_watch_;
    Watch diagnostics_watch_;
    Timer drain_;
    std::string path_;
    std::string folder_;
    Exit exit_;
    bool ended_ = false;
    // Bytes left to drain after exit. Bounded: an unrelated process may have inherited the pipe and
    // keep writing.
    size_t output_left_ = 0;
    size_t diagnostics_left_ = 0;
    bool large_pipe_ = false;
    bool terminating_ = false;
    bool is_service_ = false;
    bool* destroyed_ = nullptr;  // set during a listener call, see DestructionWatch
    struct Secrets;
    std::unique_ptr<Secrets> secrets_;  // NULL: the output is not redacted
    std::string receipts_;
    bool is_reading_limited_ = false;
    std::vector<std::string> readable_;
};

struct StartFailure {
    bool out_of_descriptors = false;  // a retry may succeed after another process has ended
    bool no_supervisor = false;       // no program can be started: the host's settings are wrong
    bool may_retry = true;            // false: a retry fails in the same way
    std::string code = "SPAWN_FAILED";
    std::string message;
};

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
