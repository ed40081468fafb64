// SPDX-License-Identifier: Apache-2.0
#pragma once
// A runner runs tools of one kind, and turns whatever they do into a stream of events that ends with
// `done`. A runner that speaks another protocol translates at its own edge: all other code knows
// events only. To add one: implement Runner in a file of its own, and list it where a session's
// runners are listed (session/runners.cpp).

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "event/event.hpp"
#include "tool/definition.hpp"
#include "tool/limits.hpp"

namespace narratoria::tool {

// What the runners of a session share. Outlives them and their attempts.
struct RunnerSettings {
    std::string folder;        // absolute; where tools work
    uint32_t grace_ms = 2000;  // from SIGTERM to SIGKILL; a change holds for attempts that run, too
};

// One attempt of a tool. All that it points to lives as long as Runner::start runs; the definition,
// as long as the attempt.
struct Invocation {
    const Definition* definition = nullptr;
    std::string_view target;  // of a file its absolute path; of "scheme:rest" the rest; else empty
    std::string_view tool_path;  // as the plan says it
    std::string_view plan_id;
    std::string_view tool_id;
    std::string_view folder;  // where the plan's relative paths begin
    uint32_t attempt = 1;
    uint32_t try_ms = 0;  // 0: no limit
    Limits limits;
    std::string_view request;  // the document of spec 000 §6, on one line
    const std::vector<std::string>* environment = nullptr;  // NAME=value
};

// How an attempt ended.
struct Outcome {
    bool ok = false;
    std::string code;          // MISSING_DONE, EXIT_STATUS …; empty when it is ok
    std::string error;         // for people; empty when it is ok
    std::string warning_code;  // something that stands beside a done that counts
    std::string warning;
    std::string limit;   // one that it came to, for people; mostly empty
    std::string result;  // done.result as JSON, or empty
    std::string diagnostics;
    int exit_status = -1;
    int signal = 0;
    uint64_t lines_after_done = 0;
    uint64_t user_us = 0;
    uint64_t system_us = 0;
    uint64_t resident_kb = 0;
};

// Whoever waits for an attempt. The attempt may be destroyed in either call.
class AttemptListener {
public:
    virtual ~AttemptListener() = default;
    // What is read at once is told at once: the clock need not be read for each event.
    virtual void on_batch() = 0;
    virtual void on_batch_end() = 0;
    virtual void on_event(const event::Event& event) = 0;
    virtual void on_ended(Outcome outcome) = 0;
};

// A running attempt. Destroying it ends the tool behind the scenes, with the grace time.
class Attempt {
public:
    virtual ~Attempt() = default;
    // Asks for the end; on_ended follows, within the grace time.
    virtual void terminate() = 0;
    // What it said beside its events so far, for who gives it up.
    virtual std::string diagnostics() const = 0;
};

struct StartFailure {
    bool shortage = false;  // of descriptors or memory: another try may succeed later
    std::string code = "SPAWN_FAILED";
    std::string message;
};

class Runner {
public:
    virtual ~Runner() = default;

    // Begins an attempt. NULL when it could not be started, and why: also when the input breaks the
    // definition's schema, for any runner.
    std::unique_ptr<Attempt> start(const Invocation& invocation, AttemptListener& listener,
                                   StartFailure& failure);

private:
    // The input fits the schema. The listener is called from the loop, never from in here.
    virtual std::unique_ptr<Attempt> begin(const Invocation& invocation, AttemptListener& listener,
                                           StartFailure& failure) = 0;
};

}  // namespace narratoria::tool
