// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs one plan (spec 003 §13.4) and produces its result (§13.5). An open execution starts with an
// empty plan, to which append() adds tools while it runs.
//
// Schedule decides what happens next, and Execution carries it out: it starts attempts, receives
// their events and stores their results. on_attempt_ended() judges the end of an attempt; settle()
// reports the end of a tool.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "asset/registry.hpp"
#include "base/countdown.hpp"
#include "base/lifetime.hpp"
#include "base/loop.hpp"
#include "event/stream.hpp"
#include "plan/conflicts.hpp"
#include "plan/job_slots.hpp"
#include "plan/known_tools.hpp"
#include "plan/plan.hpp"
#include "plan/recording.hpp"
#include "plan/result.hpp"
#include "plan/schedule.hpp"
#include "state/store.hpp"
#include "tool/resolver.hpp"
#include "tool/runner.hpp"
#include "tool/sandbox_rules.hpp"

namespace narratoria::plan {

// The objects that an execution uses. Owned by the session; must outlive the execution.
struct ExecutionContext {
    Loop& loop;
    JobSlots& slots;
    JobSlots& waiting_slots;  // for tools that only wait
    const tool::Resolver& resolver;
    event::Stream& stream;
    state::Store& state;
    asset::Registry& assets;
    const std::vector<std::string>& environment;  // NAME=value, for every tool
    const tool::Limits& limits;                   // for every tool; a definition may override them
    const tool::SandboxRules& sandbox;
    Recording* recording = nullptr;  // may be NULL
};

struct Settings {
    std::string folder;   // base of relative tool paths
    uint64_t number = 0;  // number of this execution in its session
    uint64_t seed = 0;    // from which those of the attempts are derived
    uint32_t try_ms = 0;  // 0: no limit
    // In an open execution, the time runs only while a tool has not settled.
    uint32_t plan_ms = 0;
    // Tools may be appended. The execution ends only after close() or stop().
    bool is_open = false;
    int64_t generation_attempt = 1;
    std::string parent_plan_id;                // may be empty
    std::vector<std::string> disabled_skills;  // disabled before this plan
    // A tool sent a UI event. The arguments are valid during the call only.
    std::function<void(uint64_t number, const event::Subject& subject, const event::Event& event)>
        on_ui_event;
    // Writes to the host's log what the event stream reports, too, with `code`.
    std::function<void(uint32_t level, std::string_view message, std::string_view code)> log;
    // An appended tool has settled. Called once for each, from the loop or from stop(), always
    // before on_ended. It may call the functions of the execution; stop() invalidates `result`.
    std::function<void(uint32_t tool, const ToolResult& result)> on_tool_settled;
    // Called immediately before an attempt of a tool that is not repeatable. May be empty.
    std::function<void(const event::Subject& subject, std::string_view body)> before_unrepeatable;
    // Supervisors cannot be started (`why`), so no tool of any plan can.
    std::function<void(std::string_view why)> on_no_supervisor;
    // Returns true while processes that no longer hold a slot are ending. May be empty.
    std::function<bool()> has_processes;
    // All tools have settled. Called before the end of the plan is published.
    std::function<void()> on_tools_ended;
};

// Abandoned: the caller of append() no longer waits for its tools.
enum class Stop : uint8_t { Cancelled, PlanTimeout, PromptTimeout, Abandoned };

// The reason why an appended tool must not run.
struct ToolRefusal {
    std::string code;
    std::string message;
};

// One run of a plan: start(), then one call of on_ended, from the loop or from stop(). Destroying
// it earlier ends its tools without on_ended. Engine thread only.
class Execution {
public:
    Execution(ExecutionContext context, std::unique_ptr<Plan> plan, Settings settings,
              std::function<void(std::shared_ptr<Result>)> on_ended);
    ~Execution();
    Execution(const Execution&) = delete;
    Execution& operator=(const Execution&) = delete;

    // Starts the plan. on_ended is called once, from the loop, and may destroy the execution.
    void start();

    // Ends the plan. Calls on_ended before it returns.
    void stop(Stop reason);

    // ---- open executions. append(), cancel() and close() take effect from the loop, so they may
    // be called in any callback, including a sink's.

    static constexpr uint32_t kNone = Schedule::kNone;
    // The position of the tool that is added next.
    uint32_t next_position() const {
        return static_cast<uint32_t>(plan_->tools.size() + appended_.size());
    }
    // Adds a tool. Returns its position, or kNone after the end or close(). With a refusal the tool
    // fails without an attempt.
    uint32_t append(ToolInvocation&& invocation, std::optional<ToolRefusal> refusal = {});
    // Like append(), but starts the tool before it returns, if it may start. If the tool ends within
    // its start, on_tool_settled is called before this returns. Must not be called in a callback of
    // this execution or of a sink.
    uint32_t run(ToolInvocation&& invocation, std::optional<ToolRefusal> refusal = {});
    // Ends one tool as cancelled, if it has not settled.
    void cancel(uint32_t tool);
    // Declares that no tool follows. The execution ends when all tools have settled.
    void close();

private:
    class Running;
    struct Start;
    struct Appended {
        ToolInvocation invocation;
        std::optional<ToolRefusal> refusal;
    };
    // How a stop ends a tool that has not settled.
    struct Ending {
        State state;
        const char* code;
        std::string what;
        bool done_decides;  // a `done` event decides the outcome if the tool only lingers
    };

    void schedule_ready();
    JobSlots& slots_of(uint32_t tool) const;
    bool give_back(uint32_t tool);
    void stop_waiting_for_slots();
    bool is_recorded(uint32_t tool) const;
    void start_recorded(uint32_t tool);
    bool start_attempt(uint32_t tool);  // false: out of descriptors
    void take_attempt(Start& start, std::unique_ptr<tool::Attempt> attempt, uint64_t try_ms,
                      tool::Outcome failed);
    // Impossible: the tool must be added. Ended: it has succeeded.
    enum class Alone : uint8_t { Impossible, Started, Ended };
    Alone start_alone(ToolInvocation& invocation, const ToolResult*& result);
    void place(Start& start);
    void spend_plan_time(int64_t milliseconds);
    void report_start(Start& start);
    void on_event(uint32_t tool, const event::Event& event);
    void on_try_timeout(uint32_t tool);
    void on_attempt_ended(uint32_t tool, tool::Outcome outcome);
    void report_attempt(uint32_t tool, State state, tool::Outcome& outcome);
    void settle(uint32_t tool, State state, std::string code, std::string error);
    void publish_end(uint32_t tool);
    bool is_complete() const;
    void add_result(uint32_t tool);
    void announce_until(size_t end);
    void take_appended();
    void add(ToolInvocation&& invocation);
    void refuse(ToolRefusal refusal);
    void notify_soon();
    void notify_settled();
    void end_batch();
    bool end_tool(uint32_t tool, const Ending& ending);
    void finish();
    void finish_soon();
    void request_start();
    void wait_for_descriptors(uint32_t tool);
    void end_descriptor_wait();
    void warn_and_log(std::string_view code, const std::string& message);

    std::optional<state::Refusal> take_patch(uint32_t tool, uint64_t number,
                                             const event::Event& event);
    void refuse_patch(uint32_t tool, state::Refusal refusal);
    void take_asset(uint32_t tool, uint64_t number, const event::Event& event);
    event::Subject subject_of(uint32_t tool) const;

    ExecutionContext with_;
    std::unique_ptr<Plan> plan_;
    Settings settings_;
    std::function<void(std::shared_ptr<Result>)> on_ended_;
    std::shared_ptr<Result> result_;
    std::vector<ToolResult> results_;  // by tool

    Schedule schedule_;
    // By tool, from its first start until it settles.
    std::vector<std::unique_ptr<Running>> running_;
    std::vector<JobSlots*> held_;  // by tool: the origin of its running attempt's slot, or NULL
    Conflicts conflicts_;
    KnownTools known_tools_;
    Start* alone_ = nullptr;          // of start_alone()
    std::unique_ptr<Running> spare_;  // for the next start_alone()
    uint32_t announced_ = 0;          // number of tools with a published tool_pending
    std::vector<Appended> appended_;  // not in the plan yet
    std::deque<uint32_t> settled_;    // not reported to on_tool_settled yet
    // Skills that an open execution will disable: their last tool failed. In the order of those
    // failures.
    std::vector<std::string> failed_skills_;
    uint64_t batch_ = 0;  // number of end_batch() calls
    bool closed_ = false;
    bool start_requested_ = false;
    bool starting_ = false;
    bool notifying_ = false;  // run() will call notify_settled()
    bool notify_requested_ = false;
    bool ended_ = false;
    Lifetime lifetime_;

    Countdown plan_time_;
    Timer shortage_timer_;
    int64_t started_ms_ = 0;
    std::string shortage_;  // the message of the last start that had to wait
    std::optional<int64_t> descriptor_wait_since_ms_;
};

}  // namespace narratoria::plan
