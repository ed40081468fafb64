// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a plan's tools wait for, and which of them may start now (spec 003 §13.4).
//
// The decisions of an execution without its effects: no loop, no runner, no records. Execution tells
// it what happened and does what it answers. The rules:
//   - A tool is ready when all its dependencies have settled well: completed, or optional.
//   - The first ready tool in plan order starts next. Retries go first, in the order in which their
//     backoff ended.
//   - An exclusive tool (any tool of a sequential plan, a tool without `async` of a parallel one)
//     starts when nothing is in flight, and nothing starts until it has settled. Nothing overtakes it
//     while it waits. A tool in backoff is in flight.
//   - When a required tool fails, all direct and indirect dependents are skipped.

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <queue>
#include <vector>

#include "plan/plan.hpp"

namespace narratoria::plan {

class Schedule {
public:
    static constexpr uint32_t kNone = UINT32_MAX;

    explicit Schedule(const Plan& plan);  // the plan outlives it

    // The tool whose attempt starts next, or kNone if nothing may start now.
    uint32_t next() const;
    // Begins an attempt of the tool that next() answered.
    void start(uint32_t tool);
    // The attempt could not begin, and does not count: the tool is next again. Right after start().
    void put_back(uint32_t tool);

    // An attempt has failed. The milliseconds after which the tool is to be resumed, or nothing if it
    // has no attempt left and settles.
    std::optional<uint64_t> back_off(uint32_t tool);
    // The backoff is over: another attempt may start.
    void resume(uint32_t tool);

    // `tool` is skipped because `lacking`, a dependency of it, failed or was skipped.
    struct Skip {
        uint32_t tool;
        uint32_t lacking;
    };
    // A tool has come to its end, from any phase. Dependents become ready or are settled as skipped;
    // the latter are returned, each after the one that it lacks.
    std::vector<Skip> settle(uint32_t tool, bool completed);

    // Nothing starts any more, and settle() leaves dependents as they are.
    void stop() { stopped_ = true; }

    bool is_exclusive(uint32_t tool) const { return !plan_.parallel || !plan_.tools[tool].async; }
    bool is_settled(uint32_t tool) const { return items_[tool].phase == Phase::Settled; }
    bool all_settled() const { return settled_ == items_.size(); }
    // The attempts that run now.
    uint32_t running() const { return running_; }
    // The number of the tool's latest attempt; 0 before the first.
    uint32_t attempt(uint32_t tool) const { return items_[tool].attempt; }

private:
    enum class Phase : uint8_t { Waiting, Ready, Running, BackingOff, Settled };
    struct Item {
        Phase phase = Phase::Waiting;
        uint32_t open_dependencies = 0;
        uint32_t attempt = 0;
    };

    void make_ready(uint32_t tool);
    std::vector<Skip> skip_dependents(uint32_t tool);

    const Plan& plan_;
    std::vector<Item> items_;
    std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready_;  // first attempts
    std::deque<uint32_t> retries_;
    uint32_t settled_ = 0;
    uint32_t running_ = 0;
    uint32_t in_flight_ = 0;  // started and not settled: running, in backoff or to be retried
    bool exclusive_started_ = false;  // the one that is in flight
    bool stopped_ = false;
};

}  // namespace narratoria::plan
