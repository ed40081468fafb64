// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parts of an execution that only its own files need: a tool that runs, and a start that is not
// reported yet.

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/clock.hpp"
#include "base/countdown.hpp"
#include "plan/execution.hpp"
#include "state/history.hpp"

namespace narratoria::plan {

// A tool from its first start until it settles: the current attempt, and the data of all attempts.
// The destructor ends the attempt and closes the writer.
class Execution::Running : public tool::AttemptListener {
public:
    Running(Execution& execution, uint32_t tool)
        : execution_(execution),
          tool_(tool),
          try_time(execution.with_.loop),
          backoff_timer(execution.with_.loop) {}
    ~Running() {
        if (writer != state::kHost) execution_.with_.state.close_writer(writer);
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

    void on_started() override {
        if (starting != nullptr) execution_.report_start(*starting);
    }
    void on_waiting(bool its) override {
        waits = its;
        if (waits) try_time.pause();
        else try_time.resume();
    }
    void on_batch() override { execution_.with_.stream.begin_batch(clock::wall_us()); }
    void on_batch_end() override { execution_.with_.stream.end_batch(); }
    void on_event(const event::Event& event) override { execution_.on_event(tool_, event); }
    void on_ended(tool::Outcome outcome) override {
        execution_.on_attempt_ended(tool_, std::move(outcome));
    }

private:
    Execution& execution_;
    uint32_t tool_;

public:
    std::shared_ptr<const tool::Definition> definition;  // of the attempt; must outlive it
    std::unique_ptr<tool::Attempt> attempt;
    Start* starting = nullptr;  // set until start_attempt() has reported the start
    AttemptRecord record;
    state::Tree output;
    // The origin of its patches; created with the first one.
    std::shared_ptr<const state::HistoryOrigin> origin;
    state::Writer writer = state::kHost;  // opened at the first start
    Countdown try_time;
    uint64_t try_ms = 0;  // 0: none
    Timer backoff_timer;
    int64_t first_started_ms = 0;
    int64_t attempt_started_ms = 0;
    bool waits = false;  // for a place to run
    bool timed_out = false;
    std::optional<state::Refusal> refusal;  // of the attempt's first refused patch
    bool done = false;
    bool warned_request_id = false;
    bool warned_timestamp = false;
};

// A start that is not reported yet and can be undone.
struct Execution::Start {
    uint32_t tool;
    std::unique_ptr<Running> fresh;  // NULL: a retry
    Running& running;
    std::shared_ptr<const tool::Definition> definition;
    // Of clock::steady_us(). A function may run long before its start returns.
    int64_t started_us = clock::steady_us();
    // The tool is not in the plan yet (start_alone), and has this slot; see place().
    ToolInvocation* alone = nullptr;
    JobSlots* slots = nullptr;
    tool::Success success{};
};

}  // namespace narratoria::plan
