// SPDX-License-Identifier: Apache-2.0
#pragma once
// Decides which tools of a plan may start (spec 003 §13.4).
//
// Makes the decisions of an execution without side effects: no loop, no runner, no records.
// Execution reports events to it and carries out its decisions. The rules:
//   - A tool is ready when each dependency has settled and either completed or is optional.
//   - The first ready tool in plan order starts next. Retries go first, in the order in which their
//     backoff ended.
//   - An exclusive tool (any tool of a sequential plan, a tool without `async` of a parallel one)
//     starts when nothing is in flight, and nothing starts until it has settled. No other tool
//     starts its first attempt while it waits. A tool in backoff is in flight.
//   - When a required tool fails, all direct and indirect dependents are skipped.

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <queue>
#include <vector>

#include "plan/plan.hpp"

namespace narratoria::plan {

// The scheduling state of one plan. Deterministic, without I/O or clock, so it can be tested alone.
// Engine thread only.
class Schedule {
public:
    static constexpr uint32_t kNone = UINT32_MAX;

    explicit Schedule(const Plan& plan);  // the plan must outlive it

    // Adds tools that were appended to the plan; they are ready. Amortized constant time per tool.
    void grow();
    // All tools have settled, and were removed from the plan.
    void clear();

    // The tool whose attempt must start next, or kNone if nothing may start now.
    uint32_t next() const;
    // Begins an attempt of the tool that next() returned.
    void start(uint32_t tool);
    // The attempt could not begin and does not count: the tool is next again. Call right after
    // start().
    void put_back(uint32_t tool);

    // An attempt has failed. Returns the milliseconds until the tool must be resumed, or nothing if
    // no attempt is left and the tool must settle.
    std::optional<uint64_t> back_off(uint32_t tool);
    // The backoff is over: the next attempt may start.
    void resume(uint32_t tool);

    // `tool` is skipped because its dependency `lacking` failed or was skipped.
    struct Skip {
        uint32_t tool;
        uint32_t lacking;
    };
    // A tool has ended, in any phase. Its dependents become ready or settle as skipped. Returns the
    // skipped ones, each after its lacking dependency.
    std::vector<Skip> settle(uint32_t tool, bool completed);

    // Stops all further starts. settle() then does not change dependents.
    void stop() { stopped_ = true; }

    bool is_exclusive(uint32_t tool) const { return !plan_.parallel || !plan_.tools[tool].async; }
    bool is_settled(uint32_t tool) const { return items_[tool].phase == Phase::Settled; }
    bool all_settled() const { return settled_ == items_.size(); }
    // True while a tool waits for its next attempt.
    bool has_pause() const { return in_flight_ > running_; }
    // The number of attempts that run now.
    uint32_t running() const { return running_; }
    // The number of the tool's latest attempt, from 1; 0 before the first.
    uint32_t attempt(uint32_t tool) const { return items_[tool].attempt; }

private:
    enum class Phase : uint8_t { Waiting, Ready, Running, BackingOff, Settled };
    struct Item {
        Phase phase = Phase::Waiting;
        uint32_t open_dependencies = 0;
        uint32_t attempt = 0;
    };

    void make_ready(uint32_t tool);
    void drop_settled();
    std::vector<Skip> skip_dependents(uint32_t tool);

    const Plan& plan_;
    std::vector<Item> items_;
    std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready_;  // first attempts
    std::deque<uint32_t> retries_;
    uint32_t settled_ = 0;
    uint32_t running_ = 0;
    uint32_t in_flight_ = 0;  // started and not settled: running, in backoff or to be retried
    bool exclusive_started_ = false;  // the tool in flight is exclusive
    bool stopped_ = false;
};

}  // namespace narratoria::plan
