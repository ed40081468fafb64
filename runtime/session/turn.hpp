// SPDX-License-Identifier: Apache-2.0
#pragma once
// One prompt and its generations of plans (spec 003 §13.6). Asks the narrator, has the plan
// executed, and asks again with the result until a plan succeeds or no generation is left. A plan
// with "continue" that succeeds is followed by another question in the same turn.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/loop.hpp"
#include "event/stream.hpp"
#include "journal/journal.hpp"
#include "plan/plan.hpp"
#include "plan/result.hpp"
#include "plugin/narrator_usage.hpp"
#include "session/invocations.hpp"
#include "session/narrator_client.hpp"
#include "session/narrator_request.hpp"
#include "session/presentation.hpp"
#include "session/settings.hpp"
#include "session/told.hpp"
#include "state/store.hpp"
#include "tool/registry.hpp"
#include "tool/resolver.hpp"

namespace narratoria::session {

enum class TurnOutcome : uint32_t { Completed = 1, Fallback = 2, Cancelled = 3, Timeout = 4 };

struct TurnEnd {
    TurnOutcome outcome;
    uint32_t generations;
    std::string narrative;
    std::string told;      // Turn::told()
    std::string ending;    // Turn::ending()
    std::string choices;   // JSON array
    std::string tools;     // said_by_tools()
    std::string metadata;  // Turn::metadata()
    std::shared_ptr<const plan::Result> result;
    std::string usage;  // NarratorUsage::json(); empty: nothing was reported
    std::string fault;  // human-readable fault of the last plan; set for a fallback only
    journal::Journal::StoredTurn kept;
};

// The parts of the session that a turn uses. All must outlive the turn.
struct TurnContext {
    Loop& loop;
    const SessionSettings& settings;
    const std::string& folder;  // the base of relative paths in the narrator's plans
    NarratorClient& narrator;
    event::Stream& stream;
    const state::Store& state;
    const tool::Registry* registry;  // as in NarratorRequest
    const tool::Resolver& resolver;
    Presentation& presentation;
    const uint64_t random;  // for the narrator
    const NarratorDetails& details;
    uint64_t& fallbacks;          // fallback narratives so far in this session
    const std::string& offered;   // the choices at the end of the turn before, a JSON array
    journal::Journal* journal;    // may be NULL
    journal::Playback* playback;  // NULL: nothing is replayed
};

// Created by the session for one prompt. Ends with one call of Actions::end. Engine thread only.
class Turn : private NarratorClient::Listener {
public:
    // Callbacks into the session. The first two may destroy the turn.
    struct Actions {
        // Executes the narrator's plan and calls on_result() when it has ended.
        std::function<void(std::unique_ptr<plan::Plan> plan)> execute;
        std::function<void(TurnEnd end)> end;
        decltype(Invocations::Context::open) open;
    };

    // Publishes the prompt event. `submitted_us` is the time of submission.
    Turn(const TurnContext& context, Actions actions, std::string text, int64_t submitted_us);
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    // Asks the narrator for the first plan. Calls `on_timeout` when prompt_ms has passed.
    void begin(std::function<void()> on_timeout);

    // Reports the result of the plan passed to Actions::execute.
    void on_result(std::shared_ptr<const plan::Result> result);

    // Ends the turn, unless it has ended and only waits for the journal. No plan may be executing.
    void stop(TurnOutcome outcome);

    // Both are for the narrator while its question is open.
    nar_status invoke(plan::ToolInvocation&& invocation, Invocations::Start start,
                      OnOutcome on_outcome, uint64_t& number, std::string& why) {
        return invocations_->invoke(std::move(invocation), start, std::move(on_outcome), number,
                                    why);
    }
    nar_status cancel_invocation(uint64_t number) { return invocations_->cancel(number); }

    // Attributes of the executing plan.
    uint32_t generation() const { return generation_; }
    const std::string& parent_plan_id() const { return parent_plan_id_; }
    const std::vector<std::string>& disabled_skills() const { return disabled_skills_; }
    const std::string& narrative() const { return narrative_; }
    // All that the player read.
    const std::string& told() const { return said_.text(); }
    // The name of the story's ending, or empty: the story goes on.
    const std::string& ending() const { return ending_; }
    // The choices at its end, a JSON array.
    const std::string& choices() const { return choices_; }
    // See said_by_tools().
    const std::string& tools() const { return tools_; }
    // Of the last plan that was executed, a JSON object; empty: none was.
    const std::string& metadata() const { return metadata_; }

private:
    void on_delta(std::string_view text) override;
    void on_usage(std::string_view line) override;
    void on_answer(NarratorAnswer answer) override;
    void on_narrator_timeout(std::string message) override;
    void on_recorded_answer(const journal::Playback::Answer& answer);

    void generate();
    void ask();
    void end_invocations(plan::Stop reason);
    // Takes back the pieces of a narrative that no plan followed.
    void retract();
    void fall_back();
    void refuse(std::string fault, std::string faults);
    // `progress` is appended to the player's warning, not to the narrator's fault.
    void refuse(const char* code, const char* rule, const std::string& message,
                const std::string& progress = {});
    // `recorded`: the replayed answer; NULL for a new one.
    void take_plan(std::string_view text, const journal::Playback::Answer* recorded);
    void take_answer(NarratorAnswer answer, const journal::Playback::Answer* recorded);
    // Counts an execution of this requestId. False once the limit is reached.
    bool may_execute_again(const plan::Plan& plan);
    NarratorRequest request() const;
    void go_on();
    void end(TurnOutcome outcome);
    void decide_choices(TurnOutcome outcome);
    void publish_end(TurnOutcome outcome, const journal::Journal::StoredTurn& kept);

    const TurnContext with_;
    Actions actions_;
    const std::string text_;
    const int64_t submitted_us_;
    uint32_t generation_ = 0;
    uint32_t continuation_ = 0;
    // The requestId of the last answer that had one, whether its plan ran or was refused.
    std::string parent_plan_id_;
    std::vector<std::string> disabled_skills_;
    std::string faults_ = "[]";  // faults of the last answer, a JSON array
    std::string fault_;          // human-readable reason why the last plan did not succeed
    std::shared_ptr<const plan::Result> result_;
    std::unique_ptr<Invocations> invocations_;  // for the latest question; NULL before the first
    std::map<std::string, uint32_t, std::less<>> executions_;  // number by requestId
    std::string metadata_;                                     // of the last plan that was executed
    std::string told_;    // the narratives of the plans that were continued
    std::string pieces_;  // of the narrative, told while the question is open
    std::string narrative_;
    Told said_;
    std::string ending_;
    std::string choices_ = "[]";
    bool lacks_continuation_ = false;  // the narrator failed after tools that have succeeded
    std::string tools_ = "[]";
    plugin::NarratorUsage usage_;
    Timer timer_;
    bool time_is_up_ = false;
    bool is_ended_ = false;
};

}  // namespace narratoria::session
