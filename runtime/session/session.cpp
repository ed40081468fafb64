// SPDX-License-Identifier: Apache-2.0
#include "session/session.hpp"

#include <algorithm>
#include <new>
#include <unordered_set>
#include <utility>

#include "base/bytes/utf8.hpp"
#include "base/environment.hpp"
#include "base/hash.hpp"
#include "base/json/writer.hpp"
#include "session/plan_faults.hpp"
#include "session/plugin_setup.hpp"

namespace narratoria::session {
namespace {

// A plugin that shows the game to a player submits every prompt, but not a hundred per second.
constexpr uint32_t kMaxPromptsInARow = 1'000;

plugin::StoryInfo story_info(const SessionSettings& settings) {
    return settings.story ? plugin::StoryInfo{settings.story->folder, settings.story->title,
                                              settings.story->opening, settings.story->language}
                          : plugin::StoryInfo();
}

std::string tools_folder(const SessionSettings& settings) {
    return settings.story ? settings.story->folder + "/tools" : std::string();
}

}  // namespace

Session::Session(Dependencies dependencies, SessionSettings settings)
    : with_(std::move(dependencies)),
      settings_(std::move(settings)),
      folder_(settings_.story ? settings_.story->folder : with_.engine.settings().root),
      narrator_(with_.engine),
      stream_(settings_.id, with_.engine.callback_depth()),
      assets_(with_.engine.settings().root),
      registry_(tools_folder(settings_)),
      resolver_(registry_, runners_, tools_folder(settings_)),
      dispatcher_(*this, story_info(settings_), {registry_, runners_, *with_.processes}),
      presentation_(dispatcher_, assets_, stream_, loop(), settings_.times.try_ms),
      environment_(with_.engine.settings().environment),
      random_(settings_.seed != 0 ? settings_.seed : hash_text(settings_.id, hash_seed())),
      tool_random_(Random(random_).next()),
      offered_(first_choices()) {
    stream_.set_default_watcher(host_sinks_);
    if (!with_.engine.settings().allow_paths.empty()) {
        resolver_.restrict_to(with_.engine.settings().allow_paths,
                              with_.engine.settings().allow_schemes);
    }
    if (settings_.story) {
        if (!settings_.story->allow_paths.empty()) {
            resolver_.restrict_to(settings_.story->allow_paths, settings_.story->allow_schemes,
                                  settings_.story->folder);
        }
        for (const auto& [name, value] : settings_.story->environment) {
            set_variable(environment_, name + "=" + value);
        }
    }
    if (with_.journal) restore_from_journal();
    try {
        with_.add_runners(runners_, with_.processes, with_.engine.http(), dispatcher_);
        // Add them before the plugins, so that a plugin's tool cannot take a name of the project.
        if (settings_.project) {
            for (const auto& tool : settings_.project->tools) registry_.add(tool);
        }
        load_plugins(settings_, with_.engine, dispatcher_);
        // A replay asks no narrator, and plugins are not loaded for it.
        const auto narrator =
            replays() ? std::nullopt : choose_narrator(settings_, dispatcher_, narrator_fault_);
        if (narrator) {
            narrator_.set_narrator(*narrator);
            if (!settings_.narrator && settings_.story) {
                built_in_ = find_built_in(narrator_name(*settings_.story));
            }
        }
        dispatcher_.attach_sinks(stream_);
        if (settings_.watches_story && settings_.story && !replays()) watch_story();
    } catch (...) {
        // Close it before the members that it uses are destroyed.
        if (with_.journal) with_.journal->close();
        throw;
    }
}

std::string Session::first_choices() const {
    json::Document opening;
    json::ParseError error;
    if (!settings_.story || !opening.parse(settings_.story->opening, error)) return "[]";
    const json::Value choices = opening.root().find("choices");
    return std::string(choices ? choices.raw() : "[]");
}

const nar_host* Session::extend(plugin::OwnExtension own, std::string& reason) {
    const plugin::Instance* instance = dispatcher_.extend(std::move(own), reason);
    if (instance == nullptr) return nullptr;
    if (const auto narrator = dispatcher_.narrator(*instance)) {
        narrator_.set_narrator(*narrator);
        built_in_ = nullptr;
        narrator_fault_.clear();
    }
    return instance->host();
}

Session::~Session() {
    destroying_ = true;
    with_.runner_settings->grace_ms = 0;
    request_cancel();
    try {
        apply_cancel();
        while (with_.journal && with_.journal->finish_end()) apply_cancel();
    } catch (const std::bad_alloc&) {
        // Out of memory: the handlers are not called. The members end the running job.
    }
    if (with_.journal) with_.journal->close();
    // Deferred callbacks check this flag, because the loop outlives the session.
    lifetime_.end();
    if (output_ != nullptr && with_.engine.settings().output_mode == NAR_OUTPUT_KEEP) {
        const std::vector<asset::Asset>& assets = assets_.assets();
        if (std::any_of(assets.begin(), assets.end(),
                        [&](const auto& asset) { return output_->holds(asset.path); })) {
            output_->keep();
        }
    }
    // Sinks may read the state and the assets, so they are detached before those are destroyed.
    stream_.detach_all();
    // Formatters may be code of plugins, which end with this object's members.
    metadata_.clear();
    if (settings_.narrator && settings_.narrator->released) {
        with_.engine.call_host([&] { settings_.narrator->released(settings_.narrator->user); });
    }
}

std::optional<uint64_t> Session::prompt(std::string text, TurnHandler handler,
                                        std::string_view by) {
    const auto is_same = [&](const Job& job) {
        return job.is_prompt && job.by == by && !is_cancelled(job.number);
    };
    const auto unfinished = std::count_if(jobs_.begin(), jobs_.end(), is_same) +
                            (running_ && is_same(current_) ? 1 : 0);
    if (unfinished >= 2) return std::nullopt;
    note_prompter(by);
    Job job = prompt_job(std::move(text));
    job.by = by;
    job.on_turn = std::move(handler);
    submit(std::move(job));
    return last_submission();
}

Session::Job Session::prompt_job(std::string text) {
    Job job;
    job.is_prompt = true;
    job.text = std::move(text);
    job.submitted_us = loop().wall_us();
    return job;
}

void Session::note_prompter(std::string_view by) {
    prompts_of_the_same_ = last_prompter_ == by ? prompts_of_the_same_ + 1 : 1;
    last_prompter_ = by;
    if (by.empty() || prompts_of_the_same_ % kMaxPromptsInARow != 0) return;
    log(NAR_LOG_WARN, "plugin " + last_prompter_ + ": submitted the last " +
                          std::to_string(prompts_of_the_same_) +
                          " prompts; a plugin that answers each turn with a prompt never ends");
}

bool Session::execute(std::string_view text, std::string folder, ExecutionHandler handler,
                      Faults& faults) {
    auto plan = std::make_unique<plan::Plan>();
    if (folder.empty()) folder = folder_;
    plan->parse(text, faults);
    if (faults.empty()) add_path_faults(*plan, resolver_, folder, faults);
    if (!faults.empty()) return false;
    Job job;
    job.plan = std::move(plan);
    job.folder = std::move(folder);
    job.on_execution = std::move(handler);
    submit(std::move(job));
    return true;
}

bool Session::run_script(std::shared_ptr<const script::Program> program, std::string_view scope,
                         std::string_view tools, ScriptHandler handler, script::Error& error) {
    Job job;
    job.folder = folder_;
    // Owned by the two functions below.
    const auto invocations = std::make_shared<Invocations>(Invocations::Context{
        resolver_, folder_, none_disabled_,
        [this](std::unique_ptr<plan::Plan> plan, plan::Settings settings,
               Invocations::OnEnded on_ended) {
            return open_execution(std::move(plan), std::move(settings), std::move(on_ended));
        },
        [](bool) {}});
    job.script = std::make_unique<ScriptRun>(
        ScriptRun::Context{
            loop(), ScriptTools(registry_, std::string(tools)),
            [invocations](plan::ToolInvocation&& invocation, const OnOutcome& on_outcome,
                          uint64_t& number, std::string& why) {
                return invocations->invoke(std::move(invocation), Invocations::Start::Now,
                                           on_outcome, number, why);
            },
            [this] { return has_cancel(); },
            [this, printed = handler.printed](std::string_view line) {
                if (printed) with_.engine.call_host([&] { printed(line); });
            },
            [this, invocations](ScriptEnd end) {
                invocations->end(end.reason);
                end.result = invocations->result();
                on_script_ended(end);
            },
            handler.ended && handler.wants_scope},
        std::move(program), script_limits());
    if (!scope.empty() && !job.script->set_scope(scope, error)) return false;
    job.on_script = std::move(handler);
    submit(std::move(job));
    return true;
}

void Session::submit(Job job) {
    job.number = ++submitted_numbers_;
    jobs_.push_back(std::move(job));
    submitted_.store(submitted_numbers_);
    begin_soon();
}

// Deferred, so that submit() returns to its caller before the first event of the job.
void Session::begin_soon() {
    if (running_ || begin_requested_ || destroying_) return;
    begin_requested_ = true;
    // A host that drives the loop for turns only must first read what has changed since the last
    // turn. A driving call with a budget runs two rounds of tasks before it reads.
    begin_after(story_watch_ ? 3 : 1);
}

void Session::begin_after(int rounds) {
    loop().defer([this, life = lifetime_.watch(), rounds] {
        if (life.ended()) return;
        if (rounds > 1) return begin_after(rounds - 1);
        begin_requested_ = false;
        // First: a job cancelled while it waited must not start.
        apply_cancel();
        const bool is_settling = story_watch_ && story_watch_->is_settling();
        if (!running_ && (must_reload_ || is_settling)) {
            reload_story(!is_settling);
            if (life.ended()) return;
        }
        begin_next();
    });
}

void Session::begin_next() {
    if (running_ || jobs_.empty()) return;
    begin_job();
    if (turn_) turn_->begin([this] { cancel_running(plan::Stop::PromptTimeout); });
}

// Publishes a prompt without asking the narrator, so that apply_cancel() can end a waiting prompt
// with the same events as a running one.
void Session::begin_job() {
    running_ = true;
    current_ = std::move(jobs_.front());
    jobs_.pop_front();
    if (current_.move) {
        try {
            // A cancelled move leaves no trace: nobody has seen its prompt yet.
            if (is_cancelled(current_.number) || !carry_out_move()) return end_job();
        } catch (...) {
            // Out of memory: the engine reports it and goes on.
            end_job();
            throw;
        }
    }
    if (current_.script) {
        presentation_.forget_choices();
        begin_turn(journal::TurnKind::Script);
        current_.script->start();
        return;
    }
    if (current_.playback) play_recorded();
    if (current_.on_replayed) return;
    if (!current_.is_prompt) {
        begin_turn(journal::TurnKind::Plan);
        const int64_t attempt = current_.plan->generation_attempt;
        begin_execution(std::move(current_.plan), attempt);
        return;
    }
    current_.folder = folder_;
    turn_ = std::make_unique<Turn>(
        TurnContext{loop(), settings_, folder_, narrator_, stream_, *with_.store,
                    built_in_ == nullptr ? &registry_ : nullptr, resolver_, presentation_,
                    random_.next(), narrator_details_, fallbacks_, offered_, with_.journal.get(),
                    current_.playback.get()},
        Turn::Actions{[this](std::unique_ptr<plan::Plan> plan) {
                          begin_execution(std::move(plan), turn_->generation());
                      },
                      [this](TurnEnd end) { on_turn_ended(std::move(end)); },
                      [this](std::unique_ptr<plan::Plan> plan, plan::Settings settings,
                             Invocations::OnEnded on_ended) {
                          settings.generation_attempt = turn_->generation();
                          settings.parent_plan_id = turn_->parent_plan_id();
                          return open_execution(std::move(plan), std::move(settings),
                                                std::move(on_ended));
                      }},
        current_.text, current_.submitted_us);
}

// Called before the first tool, not in the constructor: a session with only host functions as tools
// needs no folder, and many sessions only validate.
void Session::provide_output() {
    if (std::exchange(is_output_settled_, true)) return;
    const engine::EngineSettings& settings = with_.engine.settings();
    const std::string start = std::string(kOutputVariable) + "=";
    const bool has_own = std::any_of(environment_.begin(), environment_.end(),
                                     [&](const auto& each) { return each.starts_with(start); });
    if (settings.output_mode == NAR_OUTPUT_NONE || has_own) return;
    std::string why;
    output_ =
        OutputFolder::create(settings.output, id(), settings.output_mode == NAR_OUTPUT_KEEP, why);
    if (output_ != nullptr) {
        set_variable(environment_, start + output_->path());
        return;
    }
    const std::string message = "cannot create the folder for the files of the tools (" +
                                start.substr(0, start.size() - 1) + "): " + why;
    log(NAR_LOG_WARN, message);
    warn("OUTPUT_FOLDER", message);
}

void Session::begin_execution(std::unique_ptr<plan::Plan> plan, int64_t generation_attempt) {
    plan::Settings settings;
    settings.generation_attempt = generation_attempt;
    if (turn_) {
        settings.parent_plan_id = turn_->parent_plan_id();
        settings.disabled_skills = turn_->disabled_skills();
    } else {
        presentation_.forget_choices();
        if (plan->parent_plan_id) settings.parent_plan_id = *plan->parent_plan_id;
    }
    std::unordered_set<std::string> disabled(settings.disabled_skills.begin(),
                                             settings.disabled_skills.end());
    for (const std::string_view skill : plan->disabled_skills) {
        if (disabled.emplace(skill).second) settings.disabled_skills.emplace_back(skill);
    }
    if (!plan->tools.empty() && !replays()) provide_output();
    execution_ = make_execution(
        std::move(plan), std::move(settings),
        [this](std::shared_ptr<plan::Result> result) { on_execution_ended(std::move(result)); });
    execution_->start();
}

// Adds the settings that all executions of the running job share.
std::unique_ptr<plan::Execution> Session::make_execution(
    std::unique_ptr<plan::Plan> plan, plan::Settings settings,
    std::function<void(std::shared_ptr<plan::Result>)> on_ended) {
    const uint64_t number = ++executions_;
    settings.folder = current_.folder;
    settings.number = number;
    settings.seed = tool_random_.next();
    settings.try_ms = settings_.times.try_ms;
    settings.plan_ms = settings_.times.plan_ms;
    settings.on_ui_event = [this](uint64_t seq, const event::Subject& subject,
                                  const event::Event& event) {
        presentation_.on_ui_event(seq, subject, event);
    };
    settings.log = [this](uint32_t level, std::string_view message, std::string_view code) {
        log(level, message, code);
    };
    settings.on_no_supervisor = [this](std::string_view why) {
        if (!std::exchange(reported_no_supervisor_, true)) {
            log(NAR_LOG_ERROR, "no tool of this session can be started: " + std::string(why));
        }
    };
    settings.before_unrepeatable = [this](const event::Subject& subject, std::string_view body) {
        if (with_.journal) with_.journal->note_tool_starting(subject, body);
    };
    settings.has_processes = [this] { return with_.engine.pool().busy() > 0; };
    settings.on_tools_ended = [this, number] { presentation_.on_tools_ended(number); };
    return std::make_unique<plan::Execution>(
        plan::ExecutionContext{loop(), with_.engine.slots(), with_.engine.waiting_slots(),
                               resolver_, stream_, *with_.store, assets_, environment_,
                               settings_.limits, settings_.sandbox, current_.playback.get()},
        std::move(plan), std::move(settings), std::move(on_ended));
}

// Starts the execution of the tools that a narrator or a script invokes.
std::unique_ptr<plan::Execution> Session::open_execution(std::unique_ptr<plan::Plan> plan,
                                                         plan::Settings settings,
                                                         Invocations::OnEnded on_ended) {
    if (!replays()) provide_output();
    auto made = make_execution(std::move(plan), std::move(settings), std::move(on_ended));
    made->start();
    return made;
}

void Session::on_execution_ended(std::shared_ptr<plan::Result> result) {
    execution_.reset();
    if (result->success) presentation_.offer(result->plan_id, result->choices);
    if (turn_) return turn_->on_result(std::move(result));
    const auto status =
        result->cancelled ? journal::TurnStatus::Cancelled : journal::TurnStatus::Completed;
    end_turn(status, [this, handler = std::move(current_.on_execution), result] {
        end_job();
        if (handler) with_.engine.call_host([&] { handler(result); });
    });
}

void Session::on_turn_ended(TurnEnd end) {
    if (end.outcome == TurnOutcome::Fallback) {
        log(NAR_LOG_WARN,
            "a prompt ended with the fallback text after " +
                (end.generations == 1 ? std::string("one reply")
                                      : std::to_string(end.generations) + " replies") +
                " of the narrator; the last one: " + end.fault,
            "FALLBACK");
    }
    turn_.reset();
    told_ = json::quoted(end.told);
    ending_ = end.ending;
    offered_ = end.choices;
    if (end.generations > 0) {
        story_so_far_.add({current_.text, end.narrative, end.choices, end.tools, end.metadata});
    }
    const TurnHandler handler = std::move(current_.on_turn);
    end_job();
    if (handler) with_.engine.call_host([&] { handler(end); });
}

void Session::on_script_ended(const ScriptEnd& end) {
    ended_script_ = std::move(current_.script);
    loop().defer([this, life = lifetime_.watch()] {
        if (!life.ended()) ended_script_.reset();
    });
    const auto status = is_cancelled(current_.number) ? journal::TurnStatus::Cancelled
                                                      : journal::TurnStatus::Completed;
    end_turn(status, [this, handler = std::move(current_.on_script), end] {
        end_job();
        if (handler.ended) with_.engine.call_host([&] { handler.ended(end); });
    });
}

// ---- the story's files

void Session::watch_story() {
    story_watch_.emplace(loop(), settings_.story->folder, [this] {
        must_reload_ = true;
        begin_soon();
    });
    const std::string why = story_watch_->start();
    if (!why.empty()) {
        log(NAR_LOG_WARN,
            "the story's files cannot be watched, so their changes take effect in a new session: " +
                why,
            "STORY_NOT_WATCHED");
    }
    if (built_in_ != nullptr) story_watch_->set_script(narrator_name(*settings_.story));
}

void Session::reload_story(bool is_settled) {
    must_reload_ = false;
    Faults faults;
    std::optional<Story> story = load_story(settings_.story->folder, faults);
    if (story) take_story(std::move(*story), faults);
    if (!is_settled && !faults.empty()) return;
    if (story_watch_) story_watch_->settle();
    const Story& current = *settings_.story;
    std::string body;
    json::ObjectWriter writer(body);
    writer.string("title", current.title);
    if (!current.opening.empty()) writer.raw("opening", current.opening);
    writer.key("faults");
    append_faults(body, faults, "");
    writer.end();
    stream_.publish(event::Kind::StoryReloaded, {}, body);
}

void Session::take_story(Story story, Faults& faults) {
    Story& current = *settings_.story;
    if (built_in_ != nullptr) {
        // Only a new session loads a plugin as narrator.
        if (find_built_in(narrator_name(story)) == nullptr) story.narrator = current.narrator;
        const std::string& name = narrator_name(story);
        // A session may begin without prompts.json, but a story that had one has lost it.
        const bool needs_prompts =
            narrator_name(current) != kTemplateNarrator || !current.prompts_text.empty();
        if (name == kTemplateNarrator && story.prompts_text.empty() && needs_prompts) {
            faults.push_back(missing_prompts(story));
            return;
        }
        const BuiltInNarrator* const next = find_built_in(name);
        std::string text;
        if (is_script(name) && read_script(story, name, text, faults) == nullptr) return;
        const plugin::Instance* const instance =
            dispatcher_.replace(built_in_->library(), next->library(), next->settings(story, name));
        if (instance == nullptr) {
            faults.push_back({"story-script", "", 0,
                              "the script exceeds a limit of this session; a new session reads the "
                              "limits of story.toml",
                              name, 1, 1});
            return;
        }
        narrator_.set_narrator(*dispatcher_.narrator(*instance));
        built_in_ = next;
        current.narrator = story.narrator;
        current.prompts_text = std::move(story.prompts_text);
        if (story_watch_) story_watch_->set_script(name);
    }
    current.title = std::move(story.title);
    current.opening = std::move(story.opening);
    current.fallback_templates = std::move(story.fallback_templates);
    dispatcher_.set_story(current.title, current.opening);
}

// Called before the job's handler: the handler may submit, and must find the session idle. The next
// job starts from the loop, after the handler has returned.
void Session::end_job() {
    cancelled_.erase(current_.number);
    current_.invocations.reset();
    current_.playback.reset();
    running_ = false;
    if (!jobs_.empty() || must_reload_) begin_soon();
}

// ---- cancelling

void Session::request_cancel() noexcept {
    // A job number instead of a flag: a prompt submitted after this call must not be cancelled.
    const uint64_t up_to = submitted_.load();
    // Atomic maximum: another thread may have stored a larger number.
    uint64_t before = cancel_up_to_.load();
    while (before < up_to && !cancel_up_to_.compare_exchange_weak(before, up_to)) {
    }
    with_.engine.wake();
}

bool Session::cancel(uint64_t submission) {
    const bool is_running = running_ && current_.number == submission;
    if (!is_running && std::none_of(jobs_.begin(), jobs_.end(),
                                    [&](const Job& job) { return job.number == submission; })) {
        return false;
    }
    cancelled_.insert(submission);
    with_.engine.wake();
    return true;
}

void Session::cancel_running(plan::Stop reason) {
    if (execution_) {
        execution_->stop(reason);
        return;
    }
    if (current_.script) return current_.script->stop(reason);
    if (current_.on_replayed) return end_replay();
    if (!turn_) return;
    turn_->stop(reason == plan::Stop::Cancelled ? TurnOutcome::Cancelled : TurnOutcome::Timeout);
}

void Session::apply_cancel() {
    if (!has_cancel()) return;
    const auto stop = [this] {
        stopped_ = current_.number;
        cancel_running(plan::Stop::Cancelled);
    };
    if (running_) stop();
    // Starts waiting jobs and ends them immediately, so that each handler is called and each prompt
    // is published.
    while (!running_ && has_cancel()) {
        begin_job();
        stop();
    }
}

// ---- faults of the host's sinks

void Session::HostSinks::on_sink_threw(const char* what) noexcept {
    session_.with_.engine.note_thrown("an event sink of the host (now detached)", what);
}

void Session::HostSinks::on_sink_modified_record() noexcept {
    try {
        session_.log(NAR_LOG_ERROR,
                     "an event sink of the host wrote to a record and is now detached; the later "
                     "sinks received the original record; copy a record before you change it");
    } catch (...) {
        // Out of memory; the sink is detached anyway.
    }
}

// ---- calls of plugins

void Session::warn(std::string_view code, std::string_view message) {
    if (destroying_) return;
    // Deferred, because a plugin may warn while the stream is publishing an event to it.
    loop().defer(
        [this, life = lifetime_.watch(), code = std::string(code), message = std::string(message)] {
            if (!life.ended()) stream_.warn({}, code, message);
        });
}

nar_status Session::submit_prompt(std::string_view text, std::string_view by,
                                  uint64_t& submission) {
    if (destroying_) return NAR_GONE;
    if (text.empty() || !utf8::is_valid(text)) return NAR_INVALID_ARGUMENT;
    if (!has_narrator()) return NAR_NOT_FOUND;
    const std::optional<uint64_t> number = prompt(std::string(text), {}, by);
    if (number) submission = *number;
    return number ? NAR_OK : NAR_BUSY;
}

nar_status Session::delta(uint64_t token, std::string_view text) {
    return narrator_.delta(token, text);
}

void Session::withhold_variable(std::string_view name) {
    narratoria::withhold_variable(name);
    std::erase_if(environment_, [](const std::string& variable) { return is_withheld(variable); });
}

nar_status Session::usage(uint64_t token, std::string_view line) {
    return narrator_.usage(token, line);
}

nar_status Session::answer(uint64_t token, bool is_plan, std::string text) {
    return narrator_.answer(token, {is_plan, std::move(text)});
}

void Session::give_up(uint64_t token, std::string message) {
    narrator_.answer(token, {false, std::move(message), true});
}

nar_status Session::invoke(uint64_t token, plan::ToolInvocation&& invocation,
                           Invocations::Start start, OnOutcome on_outcome, uint64_t& number,
                           std::string& why) {
    if (!narrator_.is_open(token)) {
        why = "the request already has a reply, was cancelled or timed out, or never existed";
        return NAR_GONE;
    }
    return turn_->invoke(std::move(invocation), start, std::move(on_outcome), number, why);
}

nar_status Session::invoke(uint64_t token, std::string_view invocation, OnOutcomeJson on_outcome,
                           uint64_t& number, std::string& why) {
    plan::ToolInvocation parsed;
    if (!parse(invocation, parsed, why)) return NAR_INVALID_DOCUMENT;
    return invoke(
        token, std::move(parsed), Invocations::Start::FromLoop,
        std::make_shared<OutcomeFunction>(
            [on_outcome = std::move(on_outcome)](uint64_t its, const plan::ToolResult& outcome) {
                on_outcome(its, outcome_json(outcome));
            }),
        number, why);
}

nar_status Session::cancel_invocation(uint64_t token, uint64_t number) {
    return narrator_.is_open(token) ? turn_->cancel_invocation(number) : NAR_GONE;
}

}  // namespace narratoria::session
