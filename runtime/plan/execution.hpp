// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs one plan (spec 003 §13.4) and makes its result (§13.5).
//
// What may start is decided in schedule_ready(); how an attempt's end is taken in on_attempt_ended();
// what that means for the others in settle(). Nothing else changes a tool's state.

#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <string_view>
#include <vector>

#include "asset/registry.hpp"
#include "base/loop.hpp"
#include "event/stream.hpp"
#include "plan/conflicts.hpp"
#include "plan/job_slots.hpp"
#include "plan/plan.hpp"
#include "plan/result.hpp"
#include "state/store.hpp"
#include "tool/resolver.hpp"
#include "tool/runner/runner.hpp"

namespace narratoria::plan {

// What an execution works on; all of it is the session's and outlives it.
struct ExecutionContext {
    Loop& loop;
    JobSlots& slots;
    const tool::Resolver& resolver;
    event::Stream& stream;
    state::Store& state;
    asset::Registry& assets;
    const std::vector<std::string>& environment;  // NAME=value, of every tool
    const tool::Limits& limits;                   // of every tool, but for its definition's own
};

struct Settings {
    std::string folder;   // where relative tool paths begin
    uint64_t number = 0;  // of this execution in its session
    uint32_t try_ms = 0;  // 0: no limit
    uint32_t plan_ms = 0;
    int64_t generation_attempt = 1;
    std::string parent_plan_id;                // or empty
    std::vector<std::string> disabled_skills;  // before this plan
    // A tool asks for something in the user interface; all of it dies when the call returns.
    std::function<void(uint64_t number, const event::Subject& subject, const event::Event& event)>
        on_ui_event;
    // No tool will say more; its end is about to be told.
    std::function<void()> on_tools_ended;
};

enum class Stop : uint8_t { Cancelled, PlanTimeout, PromptTimeout };

class Execution {
public:
    Execution(ExecutionContext context, std::unique_ptr<Plan> plan, Settings settings,
              std::function<void(std::shared_ptr<Result>)> on_ended);
    ~Execution();
    Execution(const Execution&) = delete;
    Execution& operator=(const Execution&) = delete;

    // Begins; on_ended is called from the loop, once, and may destroy the execution.
    void start();

    // Ends it now: on_ended is called before this returns.
    void stop(Stop reason);

private:
    enum class Phase : uint8_t { Waiting, Ready, Running, BackingOff, Settled };
    class Running;
    struct Item {
        Phase phase = Phase::Waiting;
        uint32_t open_dependencies = 0;
        std::unique_ptr<Running> running;  // from its first start until it has settled
    };

    void schedule_ready();
    bool may_overlap(uint32_t tool) const;
    bool may_start(uint32_t tool) const;
    bool start_attempt(uint32_t tool);  // false: there are no descriptors for it now
    void on_event(uint32_t tool, const event::Event& event);
    void on_try_timeout(uint32_t tool);
    void on_attempt_ended(uint32_t tool, tool::Outcome outcome);
    void settle(uint32_t tool, State state, std::string code, std::string error);
    void skip_dependents(uint32_t tool);
    void finish();
    void finish_soon();
    void request_start();
    void wait_for_descriptors();
    std::vector<std::string> environment_of(uint32_t tool) const;

    void take_patch(uint32_t tool, uint64_t number, const event::Event& event);
    void take_asset(uint32_t tool, uint64_t number, const event::Event& event);
    std::string request_of(uint32_t tool) const;
    event::Subject subject_of(uint32_t tool) const;

    ExecutionContext with_;
    std::unique_ptr<Plan> plan_;
    Settings settings_;
    std::function<void(std::shared_ptr<Result>)> on_ended_;
    std::shared_ptr<Result> result_;

    std::vector<Item> items_;
    std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready_;
    std::queue<uint32_t> retries_;  // those whose backing off is over
    uint32_t settled_ = 0;
    uint32_t running_ = 0;    // attempts that hold a slot
    uint32_t in_flight_ = 0;  // those and the ones that back off
    bool alone_ = false;      // what runs is not to be joined by others
    bool start_requested_ = false;
    bool starting_ = false;
    bool ended_ = false;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);

    Timer plan_timer_;
    Timer shortage_timer_;
    int64_t started_ms_ = 0;
    Conflicts conflicts_;
};

}  // namespace narratoria::plan
