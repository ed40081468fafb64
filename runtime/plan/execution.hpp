// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs one plan (spec 003 §13.4) and makes its result (§13.5).
//
// Execution does what Schedule decides: it starts attempts, takes their events, and keeps their
// results. How an attempt's end is judged stands in on_attempt_ended(); what is told of a tool's end in
// settle().

#include <cstdint>
#include <functional>
#include <memory>
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
#include "plan/schedule.hpp"
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
    class Running;

    void schedule_ready();
    bool start_attempt(uint32_t tool);  // false: there are no descriptors for it now
    void on_event(uint32_t tool, const event::Event& event);
    void on_try_timeout(uint32_t tool);
    void on_attempt_ended(uint32_t tool, tool::Outcome outcome);
    void settle(uint32_t tool, State state, std::string code, std::string error);
    void publish_end(uint32_t tool);
    void finish();
    void finish_soon();
    void request_start();
    void wait_for_descriptors();

    void take_patch(uint32_t tool, uint64_t number, const event::Event& event);
    void take_asset(uint32_t tool, uint64_t number, const event::Event& event);
    event::Subject subject_of(uint32_t tool) const;

    ExecutionContext with_;
    std::unique_ptr<Plan> plan_;
    Settings settings_;
    std::function<void(std::shared_ptr<Result>)> on_ended_;
    std::shared_ptr<Result> result_;

    Schedule schedule_;
    std::vector<std::unique_ptr<Running>>
        running_;  // each from its first start until it has settled
    Conflicts conflicts_;
    bool start_requested_ = false;
    bool starting_ = false;
    bool ended_ = false;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);

    Timer plan_timer_;
    Timer shortage_timer_;
    int64_t started_ms_ = 0;
};

}  // namespace narratoria::plan
