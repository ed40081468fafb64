// SPDX-License-Identifier: Apache-2.0
#pragma once
// The runner interface. A runner runs tools of one kind and reports each attempt as a stream of
// events that ends with `done`. A runner of another protocol translates it to events; all other
// code knows only events. To add a runner: implement Runner in a new file, and register it in
// session/runners.cpp.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/guarantees.hpp"
#include "base/json/tape.hpp"
#include "event/event.hpp"
#include "tool/definition.hpp"
#include "tool/limits.hpp"

namespace narratoria::tool {

// Settings shared by the runners of a session. Must outlive the runners and their attempts.
struct RunnerSettings {
    std::string folder;        // absolute; the working directory of tools
    uint32_t grace_ms = 2000;  // from SIGTERM to SIGKILL; a change also applies to running attempts

    // How long a tool may run after it has answered. With grace_ms 0 the default applies: a tool
    // must have time to exit even if termination has no grace period.
    uint32_t linger_ms() const { return grace_ms > 0 ? grace_ms : 2000; }
};

// Receives the result of a tool that succeeds within Runner::start, without an attempt.
struct Success {
    bool is_wanted = true;
    bool has_succeeded = false;
    json::Value result;  // empty: none. Valid until the next start of the runner.
};

// The parameters of one attempt. The definition must outlive the attempt; everything else that this
// points to must stay valid during Runner::start only.
struct Invocation {
    const Definition* definition = nullptr;
    std::string_view target;     // file: absolute path; "scheme:rest": the rest; else empty
    std::string_view tool_path;  // as written in the plan
    std::string_view plan_id;
    std::string_view tool_id;
    std::string_view folder;  // the base of relative paths in the plan
    uint32_t attempt = 1;
    uint64_t try_ms = 0;  // 0: no limit
    Limits limits;
    std::string_view request;  // the document of spec 000 §6, on one line
    const std::vector<std::string>* environment = nullptr;  // NAME=value
    // Called from a script: a result of the wrong type is only a warning (spec 002).
    bool is_of_script = false;
    // The request's input satisfies the definition's schema: do not check it again.
    bool is_checked = false;
    // Requirements of the host and the story, in addition to the tool's binding; NULL: none.
    const Guarantees* guarantees = nullptr;
    // NULL: everything that the tool reports comes with an attempt.
    Success* success = nullptr;
};

// How an attempt ended.
struct Outcome {
    bool ok = false;
    std::string code;          // MISSING_DONE, EXIT_STATUS …; empty if ok
    std::string error;         // a message for the user; empty if ok
    std::string warning_code;  // a problem that does not change the outcome
    std::string warning;
    std::string limit;           // a message about the limit that the tool reached; usually empty
    std::string result;          // done.result as JSON, or empty
    bool may_retry = true;       // false: another attempt cannot succeed
    bool no_supervisor = false;  // no tool can be started: the host's settings are wrong
    bool is_recorded = false;    // the attempt is replayed (plan/recording.hpp)
    bool is_timeout = false;     // the replayed attempt had exceeded its time
    std::string diagnostics;
    int exit_status = -1;
    int signal = 0;
    uint64_t lines_after_done = 0;
    uint64_t user_us = 0;
    uint64_t system_us = 0;
    uint64_t resident_kb = 0;
    std::string guarantees;  // the sandbox's receipts as a JSON array, or empty
    std::string details;     // of the runner: a JSON object, or empty
    std::vector<std::string>
        traces;  // finished JSON objects: capability_check, tool_call (spec 001)
};

// True for the codes of failures that a retry cannot fix, regardless of their origin.
bool is_permanent(std::string_view code);

// True for the codes of failures that are faults of a program, not what a tool says about its work,
// and that are not logged where they happen.
bool is_fault_of_program(std::string_view code);

// Describes the acts that the sandbox refused, in the words of spec 001: `Tool "t" cannot use the
// network.` Empty if none is known.
std::string refused_text(std::string_view tool, const process::Exit& exit);

// Receives an attempt's events and its end, on the engine thread. Must outlive the attempt.
// on_event() and on_ended() may destroy the attempt.
class AttemptListener {
public:
    virtual ~AttemptListener() = default;
    // Called first if the tool acts before Runner::start has returned. From then on the start is
    // not undone.
    virtual void on_started() {}
    // The tool waits for a place to run, or runs: its timeout is paused meanwhile.
    virtual void on_waiting(bool /*waits*/) {}
    // on_batch() and on_batch_end() bracket the events of one read, so they share one timestamp.
    virtual void on_batch() = 0;
    virtual void on_batch_end() = 0;
    virtual void on_event(const event::Event& event) = 0;
    virtual void on_ended(Outcome outcome) = 0;
};

// A running attempt, owned by the caller of Runner::start. The destructor does not block: the tool
// is terminated in the background, within the grace period. Engine thread only.
class Attempt {
public:
    virtual ~Attempt() = default;
    // Delivers what a tool reported that ended within Runner::start: on_event() and on_ended() are
    // called before this returns. The owner calls it once, when it is ready for them.
    virtual void deliver_early() {}
    // Terminates the tool. on_ended() follows within the grace period.
    virtual void terminate() = 0;
    // Returns the diagnostic output so far, for the report of an abandoned attempt.
    virtual std::string diagnostics() const = 0;
    // The files and folders that the tool may read, with symbolic links resolved; NULL: all. The
    // tool can announce only these as assets.
    virtual const std::vector<std::string>* readable() const { return nullptr; }
    // Returns the outcome of a tool that has sent `done` but still runs: `done` decides it. Called
    // only after the `done` event, before an abandoned attempt is destroyed.
    virtual Outcome outcome_of_done() const = 0;
    // Returns the trace entries of an attempt that is abandoned with this outcome.
    virtual std::vector<std::string> traces_of_abandoned(const Outcome&) const { return {}; }
};

struct StartFailure {
    bool shortage = false;       // too few descriptors or too little memory; a retry may succeed
    bool no_supervisor = false;  // as in Outcome
    bool may_retry = true;       // as in Outcome
    std::string code = "SPAWN_FAILED";
    std::string message;
};

// Lives as long as its session. Engine thread only.
class Runner {
public:
    virtual ~Runner() = default;

    // Starts an attempt. Returns NULL and a `failure` if it cannot be started, or if the input
    // violates the definition's schema. A result that violates the definition's schema for it fails
    // the attempt. `listener` must outlive the attempt. Returns NULL without a failure and does not
    // call the listener if the tool reported only its success, and Invocation::success got it.
    std::unique_ptr<Attempt> start(const Invocation& invocation, AttemptListener& listener,
                                   StartFailure& failure);

    // True if many tools succeed within their start, so that Invocation::success is worth a try.
    virtual bool may_end_within_start() const { return false; }

private:
    // True if begin() enforces the guarantees of the invocation, or refuses it. Otherwise an
    // invocation with guarantees is refused.
    virtual bool enforces_guarantees() const { return false; }
    // Called with valid input. Must not call the listener before it returns, except on_started()
    // and then events; must not call on_ended().
    virtual std::unique_ptr<Attempt> begin(const Invocation& invocation, AttemptListener& listener,
                                           StartFailure& failure) = 0;
};

}  // namespace narratoria::tool
