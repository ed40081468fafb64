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
#include <unordered_set>
#include <vector>

#include "asset/registry.hpp"
#include "engine/engine.hpp"
#include "event/stream.hpp"
#include "narratoria/narrator.h"
#include "plan/execution.hpp"
#include "plugin/dispatcher.hpp"
#include "plugin/session_access.hpp"
#include "session/story.hpp"
#include "state/store.hpp"
#include "tool/registry.hpp"
#include "tool/resolver.hpp"
#include "tool/runner/process_runner.hpp"
#include "tool/runner/runners.hpp"

namespace narratoria::session {

struct SessionSettings {
    std::string id;
    std::optional<Story> story;
    std::optional<nar_narrator> narrator;                // the host's; its id was copied
    std::string narrator_id;                             // else of a plugin; empty: none
    std::vector<std::string> plugins;                    // the host's list
    std::map<std::string, std::string> plugin_settings;  // the host's, by id, a JSON object each
    bool without_plugins = false;
    engine::Times times;
    engine::Limits limits;
};

enum class TurnOutcome : uint32_t { Completed = 1, Fallback = 2, Cancelled = 3, Timeout = 4 };

// What a narrator answers, on any thread: the end of the token of its question.
struct NarratorAnswer {
    bool is_plan;      // else it failed, and
    std::string text;  // says why
};

struct TurnEnd {
    TurnOutcome outcome;
    uint32_t generations;
    std::string narrative;
    std::string choices;  // JSON array
    std::shared_ptr<const plan::Result> result;
};

// What a story asks for.
void add_wishes(const Story& story, bool with_narrator, plugin::Wishes& wishes);

using TurnHandler = std::function<void(const TurnEnd&)>;
using ExecutionHandler = std::function<void(std::shared_ptr<const plan::Result>)>;

class Session final : public engine::Member,
                      private plugin::SessionAccess,
                      private Inbox::Receiver {
public:
    Session(engine::Engine& engine, SessionSettings settings);
    ~Session() override;  // tools are ended at once; handlers are told that it was cancelled
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    bool has_narrator() const { return narrator_.generate != nullptr; }
    // Why the narrator that was asked for is not there; empty when it is, or none was.
    const std::string& narrator_fault() const { return narrator_fault_; }

    // What the host brings itself; a narrator becomes the session's. Nothing, and why, when it is not
    // valid. Outside of callbacks.
    const nar_host* extend(plugin::OwnExtension own, std::string& reason);
    // A narrator is being asked.
    bool has_question() const { return turn_ && turn_->token != 0; }

    // False when one prompt runs and another waits already.
    bool prompt(std::string text, TurnHandler handler);

    // False and the faults when the plan must not run. `folder` is absolute, or empty.
    bool execute(std::string_view plan, std::string folder, ExecutionHandler handler,
                 Faults& faults);

    // Its handlers are told of its end; what is submitted now could never run.
    bool ending() const { return destroying_; }

    void request_cancel() noexcept;  // from any thread or signal handler
    bool has_cancel() const override { return cancel_up_to_.load() > ended_; }
    void take_cancel() override;

    const plugin::Dispatcher& plugins() const { return dispatcher_; }

    bool busy() const override { return running_ || !jobs_.empty() || has_cancel(); }

    const std::string& id() const { return stream_.session_id(); }
    event::Stream& stream() { return stream_; }
    // By none of the tools: `who` is a plugin's id, or empty for the host.
    void patch_state(json::Value patch, std::string_view who);
    state::Store& state() { return state_; }
    const asset::Registry& assets() const { return assets_; }
    engine::Engine& engine() { return engine_; }

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
    void begin_turn();
    void begin_execution(std::unique_ptr<plan::Plan> plan, std::string folder,
                         int64_t generation_attempt);
    void on_execution_ended(std::shared_ptr<plan::Result> result);
    void generate();
    void refuse_generation(std::string faults);
    void refuse_generation(const char* code, const char* rule, const std::string& message);
    void take_plan(std::string_view text);
    void add_path_faults(const plan::Plan& plan, const std::string& folder, Faults& faults) const;
    void close_question();
    void on_ended(std::any answer) override;
    void end_turn(TurnOutcome outcome);
    void end_job();
    void cancel_running(plan::Stop reason);
    std::string narrator_request() const;
    std::string plan_folder() const;
    void load_plugins();
    void choose_narrator();
    void on_ui_event(uint64_t number, const event::Subject& subject, const event::Event& event);
    void note_choices(json::Value payload);
    void render_what_is_named(json::Value value);
    void render_what_waits();
    void render(const asset::Asset& asset);

    // What plugins may ask for.
    Loop& loop() override { return engine_.loop(); }
    bool on_engine_thread() const override { return engine_.on_its_thread(); }
    uint32_t& callback_depth() override { return engine_.callback_depth(); }
    void log(uint32_t level, std::string_view message) override { engine_.log(level, message); }
    void excuse(int64_t milliseconds) override { stream_.excuse(milliseconds); }
    void warn(std::string_view code, std::string_view message) override;
    nar_status read_state(std::string_view pointer, std::string& json) override;
    nar_status patch_state(std::string_view patch, std::string_view who) override;
    void list_assets(std::string& json) override { assets_.append_json(json); }
    nar_status submit_prompt(std::string_view text) override;
    void cancel() override { request_cancel(); }
    nar_status answer(uint64_t token, bool is_plan, std::string text) override;
    Inbox& inbox() override { return engine_.inbox(); }

    template <typename Call>
    void call_out(Call&& call);

    engine::Engine& engine_;
    // Before the plugins, which may still say something while they end.
    bool destroying_ = false;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
    SessionSettings settings_;
    nar_narrator narrator_{};
    std::string narrator_fault_;
    event::Stream stream_;
    state::Store state_;
    asset::Registry assets_;
    tool::RunnerSettings runner_settings_;
    std::shared_ptr<tool::ProcessRunner> processes_;
    tool::Registry registry_;
    tool::Runners runners_;
    tool::Resolver resolver_;
    plugin::Dispatcher dispatcher_;
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
    std::unordered_set<uint64_t> rendered_;  // the assets of this execution, by their events
    bool prompt_time_is_up_ = false;
};

}  // namespace narratoria::session
