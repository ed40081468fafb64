// SPDX-License-Identifier: Apache-2.0
#pragma once
// A prompt on its way through generations of plans (spec 003 §13.6): asks the narrator, has its plan
// executed, and asks again with the result until a plan succeeds or the generations are used up.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/loop.hpp"
#include "event/stream.hpp"
#include "plan/plan.hpp"
#include "plan/result.hpp"
#include "session/narrator_client.hpp"
#include "session/presentation.hpp"
#include "session/settings.hpp"
#include "state/store.hpp"
#include "tool/registry.hpp"
#include "tool/resolver.hpp"

namespace narratoria::session {

enum class TurnOutcome : uint32_t { Completed = 1, Fallback = 2, Cancelled = 3, Timeout = 4 };

struct TurnEnd {
    TurnOutcome outcome;
    uint32_t generations;
    std::string narrative;
    std::string choices;  // JSON array
    std::shared_ptr<const plan::Result> result;
};

// What a turn works on; all of it is the session's and outlives it.
struct TurnContext {
    Loop& loop;
    const SessionSettings& settings;
    const std::string& folder;  // where relative paths of the narrator's plans begin
    NarratorClient& narrator;
    event::Stream& stream;
    const state::Store& state;
    const tool::Registry& registry;
    const tool::Resolver& resolver;
    Presentation& presentation;
    uint64_t& fallbacks;  // told in this session
};

class Turn : private NarratorClient::Listener {
public:
    // What the session does for a turn. Both may destroy it.
    struct Actions {
        // Executes a plan of the narrator's; then calls on_result().
        std::function<void(std::unique_ptr<plan::Plan> plan)> execute;
        std::function<void(TurnEnd end)> end;
    };

    // Publishes the prompt. `submitted_us` is when the player said it.
    Turn(const TurnContext& context, Actions actions, std::string text, int64_t submitted_us);
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    // Asks the narrator for the first time. `on_timeout` is called when the prompt's time is up.
    void begin(std::function<void()> on_timeout);

    // The plan that was handed to `execute` has ended.
    void on_result(std::shared_ptr<const plan::Result> result);

    // Ends it, while no plan is being executed.
    void stop(TurnOutcome outcome);

    // For the plan that is being executed.
    uint32_t generation() const { return generation_; }
    const std::string& parent_plan_id() const { return parent_plan_id_; }
    const std::vector<std::string>& disabled_skills() const { return disabled_skills_; }

private:
    void on_answer(NarratorAnswer answer) override;
    void on_narrator_timeout() override;

    void generate();
    void fall_back();
    void refuse(std::string faults);
    void refuse(const char* code, const char* rule, const std::string& message);
    void take_plan(std::string_view text);
    // Counts an execution of this plan; false when it was executed too often.
    bool may_execute_again(const plan::Plan& plan);
    std::string request() const;
    void end(TurnOutcome outcome);

    const TurnContext with_;
    Actions actions_;
    const std::string text_;
    const int64_t submitted_us_;
    uint32_t generation_ = 0;
    std::string parent_plan_id_;  // empty: there is none
    std::vector<std::string> disabled_skills_;
    std::string faults_ = "[]";  // of the last answer, as JSON
    std::shared_ptr<const plan::Result> result_;
    std::map<std::string, uint32_t, std::less<>> executions_;  // by requestId
    std::string narrative_;
    Timer timer_;
    bool time_is_up_ = false;
};

}  // namespace narratoria::session
