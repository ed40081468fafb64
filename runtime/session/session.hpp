// SPDX-License-Identifier: Apache-2.0
#pragma once
// A session: prompt → narrator → plan → result → replan (spec 003 §13). It owns the state, the
// assets and the event stream, and does one thing at a time.

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "asset/registry.hpp"
#include "event/stream.hpp"
#include "plan/execution.hpp"
#include "plugin/dispatcher.hpp"
#include "plugin/session_access.hpp"
#include "session/dependencies.hpp"
#include "session/narrator_client.hpp"
#include "session/presentation.hpp"
#include "session/settings.hpp"
#include "session/turn.hpp"
#include "state/store.hpp"
#include "tool/registry.hpp"
#include "tool/resolver.hpp"
#include "tool/runner/runners.hpp"

namespace narratoria::session {

using TurnHandler = std::function<void(const TurnEnd&)>;
using ExecutionHandler = std::function<void(std::shared_ptr<const plan::Result>)>;

class Session final : public engine::Member, private plugin::SessionAccess {
public:
    Session(Dependencies dependencies, SessionSettings settings);
    ~Session() override;  // tools are ended at once; handlers are told that it was cancelled
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    bool has_narrator() const { return narrator_.has_narrator(); }
    // Why the narrator that was asked for is not there; empty when it is, or none was.
    const std::string& narrator_fault() const { return narrator_fault_; }

    // What the host brings itself; a narrator becomes the session's. Nothing, and why, when it is not
    // valid. Outside of callbacks.
    const nar_host* extend(plugin::OwnExtension own, std::string& reason);
    // A narrator is being asked.
    bool has_question() const { return narrator_.is_asking(); }

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

    std::string_view story_title() const {
        return settings_.story ? std::string_view(settings_.story->title) : std::string_view();
    }
    const plugin::Dispatcher& plugins() const { return dispatcher_; }

    bool busy() const override { return running_ || !jobs_.empty() || has_cancel(); }

    const std::string& id() const { return stream_.session_id(); }
    event::Stream& stream() { return stream_; }
    // By none of the tools: `who` is a plugin's id, or empty for the host.
    void patch_state(json::Value patch, std::string_view who);
    state::Store& state() { return *with_.store; }
    const asset::Registry& assets() const { return assets_; }
    engine::Engine& engine() { return with_.engine; }

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

    void submit(Job job);
    void begin_soon();
    void begin_next();
    void begin_job();
    void begin_execution(std::unique_ptr<plan::Plan> plan, int64_t generation_attempt);
    void on_execution_ended(std::shared_ptr<plan::Result> result);
    void on_turn_ended(TurnEnd end);
    void end_job();
    void cancel_running(plan::Stop reason);

    // What plugins may ask for.
    Loop& loop() override { return with_.engine.loop(); }
    bool on_engine_thread() const override { return with_.engine.on_its_thread(); }
    uint32_t& callback_depth() override { return with_.engine.callback_depth(); }
    void log(uint32_t level, std::string_view message) override {
        with_.engine.log(level, message);
    }
    void excuse(int64_t milliseconds) override { stream_.excuse(milliseconds); }
    void warn(std::string_view code, std::string_view message) override;
    nar_status read_state(std::string_view pointer, std::string& json) override;
    nar_status patch_state(std::string_view patch, std::string_view who) override;
    void list_assets(std::string& json) override { assets_.append_json(json); }
    nar_status submit_prompt(std::string_view text) override;
    void cancel() override { request_cancel(); }
    plugin::ProcessDefaults process_defaults() override {
        return {with_.engine.pool(), with_.engine.settings().root, environment_,
                settings_.limits};
    }
    nar_status answer(uint64_t token, bool is_plan, std::string text) override;
    Inbox& inbox() override { return with_.engine.inbox(); }

    const Dependencies with_;
    // Before the plugins, which may still say something while they end.
    bool destroying_ = false;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
    const SessionSettings settings_;
    const std::string folder_;  // where relative paths of plans begin
    NarratorClient narrator_;
    std::string narrator_fault_;
    event::Stream stream_;
    asset::Registry assets_;
    tool::Registry registry_;
    tool::Runners runners_;
    tool::Resolver resolver_;
    plugin::Dispatcher dispatcher_;
    Presentation presentation_;
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
};

}  // namespace narratoria::session
