// SPDX-License-Identifier: Apache-2.0
#pragma once
// A session: prompt → narrator → plan → result → new plan (spec 003 §13).

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "asset/registry.hpp"
#include "base/lifetime.hpp"
#include "base/random.hpp"
#include "event/stream.hpp"
#include "plan/execution.hpp"
#include "plugin/dispatcher.hpp"
#include "plugin/session_access.hpp"
#include "session/built_in_narrators.hpp"
#include "session/dependencies.hpp"
#include "session/narrator_client.hpp"
#include "session/output_folder.hpp"
#include "session/presentation.hpp"
#include "session/script_run.hpp"
#include "session/session_tools.hpp"
#include "session/settings.hpp"
#include "session/story_so_far.hpp"
#include "session/story_watch.hpp"
#include "session/turn.hpp"
#include "state/metadata.hpp"
#include "state/store.hpp"
#include "tool/registry.hpp"
#include "tool/resolver.hpp"
#include "tool/runners.hpp"

namespace narratoria::session {

using TurnHandler = std::function<void(const TurnEnd&)>;
struct ScriptHandler {
    // Both may be empty.
    std::function<void(std::string_view line)> printed;
    std::function<void(const ScriptEnd& end)> ended;
    bool wants_scope = true;
};
using ExecutionHandler = std::function<void(std::shared_ptr<const plan::Result>)>;

// Owns the state, the assets, the plugins and the event stream. Runs one job at a time: a prompt,
// an execution or a script. Engine thread only, except request_cancel() and the answers of
// narrators. Handlers are called on the engine thread and may submit further jobs.
class Session final : public engine::Member, private plugin::SessionAccess {
public:
    Session(Dependencies dependencies, SessionSettings settings);
    // Kills running tools without a grace period, and calls the handlers of unfinished jobs with
    // the outcome "cancelled".
    ~Session() override;
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    bool has_narrator() const { return narrator_.has_narrator(); }
    // Why the requested narrator is not available; empty if it is, or if none was requested.
    const std::string& narrator_fault() const { return narrator_fault_; }

    // Adds an extension that the host implements itself. If it is a narrator, the session uses it
    // from now on. Returns NULL and a reason if it is not valid. Do not call it from a callback.
    const nar_host* extend(plugin::OwnExtension own, std::string& reason);
    SessionTools tools() { return {registry_, resolver_, dispatcher_, settings_.sandbox, folder_}; }
    // True while a narrator's answer is pending.
    bool has_question() const { return narrator_.is_asking(); }

    // Submits a prompt of the plugin `by`, or of the host if it is empty. Nothing if the submitter
    // has two unfinished prompts already. Prompts of others do not count, so that a plugin that
    // answers each turn with a prompt cannot keep a player from playing.
    std::optional<uint64_t> prompt(std::string text, TurnHandler handler, std::string_view by = {});

    // Submits a plan. Returns false and the faults if the plan must not run. `folder` is the
    // absolute base of relative paths; empty: the session's folder.
    bool execute(std::string_view plan, std::string folder, ExecutionHandler handler,
                 Faults& faults);

    // The session that the narrators of this folder reach through this interface.
    static Session& of(plugin::SessionAccess& access) { return static_cast<Session&>(access); }

    // Runs a tool for the narrator while its question is open (narratoria.invoke/1).
    nar_status invoke(uint64_t token, plan::ToolInvocation&& invocation, Invocations::Start start,
                      OnOutcome on_outcome, uint64_t& number, std::string& why);
    // The same for a plugin, in JSON.
    nar_status invoke(uint64_t token, std::string_view invocation, OnOutcomeJson on_outcome,
                      uint64_t& number, std::string& why) override;
    nar_status cancel_invocation(uint64_t token, uint64_t number) override;

    // Submits a compiled script. `scope`: a JSON object or empty; `tools`: the absolute path of a
    // folder of additional tools, or empty. Returns false and an error if the scope is not valid.
    bool run_script(std::shared_ptr<const script::Program> program, std::string_view scope,
                    std::string_view tools, ScriptHandler handler, script::Error& error);

    // The number of the last submission.
    uint64_t last_submission() const { return submitted_numbers_; }
    uint64_t running_submission() const override { return running_ ? current_.number : 0; }
    // Cancels one submission. Returns false if it is unknown or has ended.
    bool cancel(uint64_t submission) override;
    void cancel_all() override { request_cancel(); }

    // True while the destructor runs. A job submitted then would never run, so callers refuse it.
    bool ending() const { return destroying_; }

    // Cancels all jobs submitted so far. Thread-safe and async-signal-safe.
    void request_cancel() noexcept;
    // False while the stopped job only waits for the store.
    bool has_cancel() const override {
        if (running_) return is_cancelled(current_.number) && stopped_ != current_.number;
        return !jobs_.empty() && is_cancelled(jobs_.front().number);
    }
    void apply_cancel() override;

    script::Limits script_limits() const override {
        return engine::script_limits(settings_.limits);
    }

    std::string_view story_title() const {
        return settings_.story ? std::string_view(settings_.story->title) : std::string_view();
    }
    std::string_view story_opening() const {
        return settings_.story ? std::string_view(settings_.story->opening) : std::string_view();
    }
    // Reads the story's folder again and publishes the outcome. `is_settled` false: a file may be
    // written just now, so a fault is not an outcome. No job may run. If the story has no
    // fault, replaces its title, opening, fallback texts, and what its built-in narrator reads.
    // Everything else stays as it was when the session began.
    void reload_story(bool is_settled);
    const plugin::Dispatcher& plugins() const { return dispatcher_; }

    // True while a job runs or waits.
    bool is_playing() const { return running_ || !jobs_.empty() || has_cancel(); }
    bool busy() const override { return is_playing() || presentation_.has_pending(); }

    const std::string& id() const { return stream_.session_id(); }
    event::Stream& stream() { return stream_; }
    // Applies a patch of a plugin or of the host. `who` is the plugin's id; empty: the host.
    // `nulls`: see state::Replacement; may be an empty Value. Returns the reason if a limit of the
    // session refuses the patch.
    std::optional<state::Refusal> patch_state(json::Value patch, std::string_view who,
                                              json::Value nulls = {});
    state::Store& state() { return *with_.store; }
    // The operations of spec 002's ToolContext. `who` is the plugin's id; empty: the host.
    nar_status set_state(std::string_view key, std::string_view value,
                         std::optional<state::Description> metadata,
                         const plugin::ApplyPatch& apply, std::string_view who,
                         std::string& why) override;
    nar_status clear_state(const plugin::ApplyPatch& apply, std::string_view who,
                           std::string& why) override;
    nar_status register_state_metadata(std::string_view key,
                                       std::optional<state::Description> metadata,
                                       std::string& why) override;
    const state::Metadata& state_metadata() const override { return metadata_; }
    void format_state_for_prompt(std::string& out) override;
    const asset::Registry& assets() const { return assets_; }
    // NULL: the session has no store.
    journal::Journal* journal() const { return with_.journal.get(); }
    // Converts a value of `turn` (store.h) other than NAR_TURN_CURRENT to a turn; nothing: the
    // beginning. Requires a journal. Throws as go_to().
    std::optional<journal::TurnId> destination_of(uint64_t turn);
    // Restores the end of a turn, or the beginning. Requires a journal and no job. Throws
    // journal::StoreError or journal::TurnError; the session is then unchanged. `plays_again`: the
    // prompt after it follows.
    void go_to(std::optional<journal::TurnId> turn, bool plays_again = false);
    // Appends the body of a record SessionMoved to where the session is.
    void append_current(std::string& out, bool plays_again = false) const;
    // Goes to the turn before a prompt and plays the prompt again. With `tools` (toolIds of its
    // last plan) the narrator is not asked: these tools and their dependents run, and the results
    // of the other tools come from the journal. Same conditions and errors as go_to().
    void again(journal::TurnId turn, const std::set<std::string, std::less<>>& tools,
               TurnHandler handler);
    // Plays an interrupted prompt to its end; finished steps come from the journal. Throws a
    // TurnError if a tool had started that must not run twice, unless `repeats`.
    void resume(journal::TurnId turn, bool repeats, TurnHandler handler);

    // True if the session only replays the turns of a store.
    bool replays() const { return with_.replayed != nullptr; }
    struct Replayed {
        uint64_t kept;  // state::Tree::digest() at the recorded end of the turn
        uint64_t now;   // after the replay
    };
    // Goes to the end of the previous turn and replays the turn from its records. No job may run.
    // Throws the same errors as go_to().
    void replay(journal::TurnId turn, std::function<void(const Replayed& replayed)> handler);
    engine::Engine& engine() const { return with_.engine; }

private:
    struct Move {
        std::optional<journal::TurnId> turn;  // nothing: the beginning
    };
    struct Job {
        uint64_t number = 0;
        std::optional<Move> move;  // carried out first; without a prompt, it is all of the job
        bool is_prompt = false;
        std::string by;    // the plugin that submitted it; empty: the host
        std::string text;  // the player's prompt
        int64_t submitted_us = 0;
        TurnHandler on_turn;
        std::unique_ptr<plan::Plan> plan;
        std::string folder;
        ExecutionHandler on_execution;
        std::unique_ptr<ScriptRun> script;
        ScriptHandler on_script;
        std::unique_ptr<journal::Playback> playback;
        // Set in the replay of a script, or of the host's changes between two turns.
        std::unique_ptr<Invocations> invocations;
        std::function<void()> on_replayed;
    };

    void watch_story();
    // Replaces what reload_story() replaces, or appends faults and changes nothing.
    void take_story(Story story, Faults& faults);
    // The name of the narrator that the host or this story names.
    const std::string& narrator_name(const Story& story) const {
        return settings_.narrator_id.empty() ? story.narrator : settings_.narrator_id;
    }
    Job prompt_job(std::string text);
    void submit(Job job);
    void note_prompter(std::string_view by);
    void begin_soon();
    void begin_after(int rounds);
    void begin_next();
    void begin_job();
    void provide_output();
    void begin_execution(std::unique_ptr<plan::Plan> plan, int64_t generation_attempt);
    std::unique_ptr<plan::Execution> make_execution(
        std::unique_ptr<plan::Plan> plan, plan::Settings settings,
        std::function<void(std::shared_ptr<plan::Result>)> on_ended);
    std::unique_ptr<plan::Execution> open_execution(std::unique_ptr<plan::Plan> plan,
                                                    plan::Settings settings,
                                                    Invocations::OnEnded on_ended);
    void on_execution_ended(std::shared_ptr<plan::Result> result);
    void on_turn_ended(TurnEnd end);
    void on_script_ended(const ScriptEnd& end);
    void end_job();
    void cancel_running(plan::Stop reason);
    bool is_cancelled(uint64_t submission) const {
        return submission <= cancel_up_to_.load() || cancelled_.contains(submission);
    }

    // plugin::SessionAccess: the functions that plugins call.
    Loop& loop() override { return with_.engine.loop(); }
    const std::shared_ptr<EngineThread>& engine_thread() const override {
        return with_.engine.thread();
    }
    uint32_t& callback_depth() override { return with_.engine.callback_depth(); }
    const std::string& session_id() const override { return stream_.session_id(); }
    void log(uint32_t level, std::string_view message, std::string_view code = {}) override {
        with_.engine.log(level, message, stream_.session_id(), code);
    }
    void excuse(int64_t milliseconds) override { stream_.excuse(milliseconds); }
    void warn(std::string_view code, std::string_view message) override;
    nar_status read_state(std::string_view pointer, std::string& json) override;
    nar_status patch_state(std::string_view patch, std::string_view who) override;
    void list_assets(std::string& json) override { assets_.append_json(json); }
    bool is_publishing() const override { return stream_.is_sending(); }
    bool on_rendered(plugin::Instance& renderer, uint64_t seq, nar_status status) override {
        return !destroying_ && presentation_.on_rendered(renderer, seq, status);
    }
    void drop_renderings(plugin::Instance& renderer) override {
        if (!destroying_) presentation_.drop_renderings(renderer);
    }
    nar_status apply_patch(const state::Replacement& patch, const plugin::ApplyPatch& apply,
                           std::string_view who, std::string& why);
    nar_status submit_prompt(std::string_view text, std::string_view by,
                             uint64_t& submission) override;
    nar_status submit_go_to(uint64_t turn, std::string_view by, uint64_t& submission) override;
    nar_status submit_again(uint64_t turn, std::string_view by, uint64_t& submission) override;
    nar_status submit_resume(uint64_t turn, bool repeats, std::string_view by,
                             uint64_t& submission) override;
    // The rest of an interrupted prompt. Throws as resume().
    std::unique_ptr<journal::Playback> rest_of(const journal::TurnRow& row, bool repeats);
    nar_status read_turns(uint64_t turn, uint32_t count, std::string_view by,
                          std::string& json) override;
    nar_status with_store(std::string_view by, const char* what, const std::function<void()>& use);
    struct PromptOfTurn {
        journal::TurnRow row;
        std::unique_ptr<journal::Playback> playback;  // NULL: the whole prompt is played
    };
    // Submits the prompt that `choose` returns, after a move to the turn before it. `choose` may
    // throw as go_to().
    nar_status submit_prompt_of(
        std::string_view by, uint64_t& submission,
        const std::function<PromptOfTurn(journal::Journal& journal)>& choose);
    // `prepare` returns the job, or throws as go_to().
    nar_status submit_move(std::string_view by, uint64_t& submission,
                           const std::function<Job()>& prepare);
    bool carry_out_move();
    http::Client& http() override { return with_.engine.http(); }
    plugin::ProcessDefaults process_defaults() override {
        return {with_.engine.pool(), with_.engine.settings().root, environment_, settings_.limits};
    }
    nar_status delta(uint64_t token, std::string_view text) override;
    void withhold_variable(std::string_view name) override;
    nar_status usage(uint64_t token, std::string_view line) override;
    nar_status answer(uint64_t token, bool is_plan, std::string text) override;
    void give_up(uint64_t token, std::string message) override;
    const tool::Registry& registry() const override { return registry_; }
    Inbox& inbox() override { return with_.engine.inbox(); }

    // Logs contract violations of the host's own sinks.
    class HostSinks final : public event::SinkWatcher {
    public:
        explicit HostSinks(Session& session) : session_(session) {}
        void on_sink_threw(const char* what) noexcept override;
        void on_sink_modified_record() noexcept override;
        void on_sink_slow(int64_t, size_t) noexcept override {}  // the host has no time budget
        void on_sink_flooded(size_t) noexcept override {}        // the stream publishes a warning

    private:
        Session& session_;
    };

    // Restores the session from its journal. Requires a journal.
    void restore_from_journal();
    // Applies the output of rest().
    void take_rest(const journal::Journal::Restored& past);
    // `playback` may be NULL.
    void play_again(const journal::TurnRow& row, std::unique_ptr<journal::Playback> playback,
                    TurnHandler handler);
    void play_recorded();
    void end_replay();
    // The choices of the story's opening, as JSON.
    std::string first_choices() const;
    std::string rest(journal::TurnKind kind);
    void begin_turn(journal::TurnKind kind);
    // Calls `then` when the turn is in the journal; without a journal, immediately.
    void end_turn(journal::TurnStatus status, std::function<void()> then);

    const Dependencies with_;
    // Declared before dispatcher_, so destroyed after it: plugins may call in while they shut down.
    bool destroying_ = false;
    Lifetime lifetime_;
    SessionSettings settings_;
    const std::string folder_;  // the base of relative paths in plans
    NarratorClient narrator_;
    std::string narrator_fault_;
    // The built-in narrator in use; NULL: a plugin or the host narrates.
    const BuiltInNarrator* built_in_ = nullptr;
    HostSinks host_sinks_{*this};
    event::Stream stream_;
    asset::Registry assets_;
    state::Metadata metadata_;
    bool formatting_ = false;  // format_state_for_prompt() runs; formatters may call it again
    tool::Registry registry_;
    tool::Runners runners_;
    tool::Resolver resolver_;
    plugin::Dispatcher dispatcher_;
    Presentation presentation_;
    std::vector<std::string> environment_;
    const std::vector<std::string> none_disabled_;  // a script may call every skill
    std::optional<StoryWatch> story_watch_;
    bool must_reload_ = false;  // the story has changed; reload it when no job runs
    bool reported_no_supervisor_ = false;
    bool is_output_settled_ = false;
    std::unique_ptr<OutputFolder> output_;  // or NULL

    std::deque<Job> jobs_;
    uint64_t submitted_numbers_ = 0;
    std::string last_prompter_;         // as Job::by
    uint32_t prompts_of_the_same_ = 0;  // in a row
    // Atomic, because request_cancel() runs in any thread or signal handler.
    std::atomic<uint64_t> submitted_{0};
    std::atomic<uint64_t> cancel_up_to_{0};
    std::set<uint64_t> cancelled_;  // unfinished submissions that were cancelled one by one
    uint64_t stopped_ = 0;          // the last job that apply_cancel() stopped

    bool running_ = false;
    bool begin_requested_ = false;
    Job current_;
    std::unique_ptr<Turn> turn_;
    std::unique_ptr<plan::Execution> execution_;
    std::unique_ptr<ScriptRun> ended_script_;  // kept until its last call has returned
    uint64_t executions_ = 0;
    uint64_t fallbacks_ = 0;
    Random random_;       // of the narrator
    Random tool_random_;  // separate: other tools in a plan must not change an answer's dice
    std::optional<journal::TurnId> replayed_;  // the state is that of this turn's end
    // What the last turn that was not the host's told, and its choices, as JSON. Before the first
    // turn, the choices are those of the opening.
    std::string told_ = "\"\"";
    std::string ending_;  // the story's ending that this turn reached, or empty
    StorySoFar story_so_far_;
    const NarratorDetails narrator_details_{
        story_so_far_, [this](std::string& out) { format_state_for_prompt(out); }};
    std::string offered_;
};

}  // namespace narratoria::session
