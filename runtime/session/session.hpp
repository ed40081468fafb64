// SPDX-License-Identifier: Apache-2.0
#pragma once
// A session: prompt → narrator → plan → result → replan (spec 003 §13). It owns the state, the
// assets and the event stream, and does one thing at a time.

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "asset/registry.hpp"
#include "event/stream.hpp"
#include "narratoria/narrator.h"
#include "plan/execution.hpp"
#include "session/engine.hpp"
#include "session/story.hpp"
#include "session/template_narrator.hpp"
#include "state/store.hpp"
#include "tool/resolver.hpp"
#include "tool/runner/process_runner.hpp"

namespace narratoria::session {

struct SessionSettings {
    std::string id;
    std::optional<Story> story;
    std::optional<nar_narrator> narrator;  // the host's; its id was copied
    std::string narrator_id;
    Times times;
    Limits limits;
};

enum class TurnOutcome : uint32_t { Completed = 1, Fallback = 2, Cancelled = 3, Timeout = 4 };

struct TurnEnd {
    TurnOutcome outcome;
    uint32_t generations;
    std::string narrative;
    std::string choices;  // JSON array
    std::shared_ptr<const plan::Result> result;
};

using TurnHandler = std::function<void(const TurnEnd&)>;
using ExecutionHandler = std::function<void(std::shared_ptr<const plan::Result>)>;

class Session {
public:
    Session(Engine& engine, SessionSettings settings);
    ~Session();  // tools are ended at once; handlers are told that it was cancelled
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    bool has_narrator() const { return narrator_.generate != nullptr; }

    // False when one prompt runs and another waits already.
    bool prompt(std::string text, TurnHandler handler);

    // False and the faults when the plan must not run. `folder` is absolute, or empty.
    bool execute(std::string_view plan, std::string folder, ExecutionHandler handler,
                 Faults& faults);

    // Its handlers are told of its end; what is submitted now could never run.
    bool ending() const { return destroying_; }

    void request_cancel() noexcept;  // from any thread or signal handler
    bool has_cancel() const { return cancel_up_to_.load() > ended_; }
    void take_cancel();
    void on_answer(uint64_t token, bool is_plan, std::string text);

    bool busy() const { return running_ || !jobs_.empty() || has_cancel(); }

    const std::string& id() const { return stream_.session_id(); }
    event::Stream& stream() { return stream_; }
    state::Store& state() { return state_; }
    const asset::Registry& assets() const { return assets_; }
    Engine& engine() { return engine_; }

private:
    struct Job {
        uint64_t number = 0;
        bool is_prompt = false;
        std::string text;  // the player's
        int64_t submitted_us = 0;
        TurnHandler on_turn;
        std::unique_ptr<plan::Plan> plan;
        std::string folder;
        ExecutionHandler on_execution;
    };

    // A prompt on its way through generations of plans.
    struct Turn {
        explicit Turn(Loop& loop) : narrator_timer(loop), prompt_timer(loop) {}
        uint32_t generation = 0;
        uint64_t token = 0;            // of the question that is open, or 0
        std::vector<uint64_t> tokens;  // of all questions of this turn
        std::string parent_plan_id;
        std::vector<std::string> disabled_skills;
        std::string faults = "[]";
        std::shared_ptr<const plan::Result> result;
        std::map<std::string, uint32_t, std::less<>> executions;
        std::string narrative;
        std::string choices = "[]";
        Timer narrator_timer;
        Timer prompt_timer;
    };

    void begin_soon();
    void begin_next();
    void begin_execution(std::unique_ptr<plan::Plan> plan, std::string folder,
                         int64_t generation_attempt);
    void on_execution_ended(std::shared_ptr<plan::Result> result);
    void generate();
    void refuse_generation(std::string faults);
    void take_plan(std::string_view text);
    void add_path_faults(const plan::Plan& plan, const std::string& folder, Faults& faults) const;
    void close_question();
    void end_turn(TurnOutcome outcome);
    void end_job();
    void cancel_running(plan::Stop reason);
    std::string narrator_request() const;
    std::string plan_folder() const;
    void on_ui_event(std::string_view event, json::Value payload);
    template <typename Call>
    void call_out(Call&& call);

    Engine& engine_;
    SessionSettings settings_;
    nar_narrator narrator_{};
    std::unique_ptr<TemplateNarrator> template_narrator_;
    event::Stream stream_;
    state::Store state_;
    asset::Registry assets_;
    tool::Resolver resolver_;
    tool::ProcessRunner runner_;
    std::vector<std::string> environment_;

    std::deque<Job> jobs_;
    uint64_t submitted_numbers_ = 0;
    std::atomic<uint64_t> submitted_{0};
    std::atomic<uint64_t> cancel_up_to_{0};
    uint64_t ended_ = 0;  // all jobs up to this number have ended

    bool running_ = false;
    bool begin_requested_ = false;
    Job current_;
    std::unique_ptr<Turn> turn_;
    std::unique_ptr<plan::Execution> execution_;
    uint64_t executions_ = 0;
    uint64_t fallbacks_ = 0;
    bool prompt_time_is_up_ = false;
    bool destroying_ = false;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace narratoria::session
