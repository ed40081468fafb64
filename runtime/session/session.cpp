// SPDX-License-Identifier: Apache-2.0
#include "session/session.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <unordered_set>
#include <utility>

#include "base/clock.hpp"
#include "base/json/writer.hpp"
#include "base/utf8.hpp"
#include "narratoria/engine.h"
#include "session/runners.hpp"
#include "session/template_narrator.hpp"
#include "session/text_template.hpp"

namespace narratoria::session {
namespace {

constexpr uint32_t kMaxGenerations = 5;
constexpr uint32_t kMaxExecutionsOfOnePlan = 3;
// Events of a result that a narrator is shown; a larger result is shown without them.
constexpr uint64_t kShownEvents = 1024 * 1024;

constexpr const char* kFallback =
    "Nothing comes of it, and the moment passes. What do you do instead?";

class TextOutput : public plan::Output {
public:
    explicit TextOutput(std::string& text) : text_(text) {}
    bool write(std::string_view piece) override {
        text_.append(piece);
        return true;
    }
    bool write_file(int file, uint64_t offset, uint64_t size) override {
        const size_t start = text_.size();
        text_.resize(start + size);
        for (uint64_t done = 0; done < size;) {
            const ssize_t got = ::pread(file, text_.data() + start + done, size - done,
                                        static_cast<off_t>(offset + done));
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) return false;
            done += static_cast<uint64_t>(got);
        }
        return true;
    }

private:
    std::string& text_;
};

// Where in a plan's document a text of it begins, its quotation mark included; 0 when it was written
// with escapes and so stands elsewhere.
size_t byte_in(const plan::Plan& plan, std::string_view text) {
    const std::string_view document = plan.text();
    const bool inside =
        text.data() > document.data() && text.data() < document.data() + document.size();
    return inside ? static_cast<size_t>(text.data() - document.data()) - 1 : 0;
}

const char* outcome_name(TurnOutcome outcome) {
    switch (outcome) {
        case TurnOutcome::Completed: return "completed";
        case TurnOutcome::Fallback: return "fallback";
        case TurnOutcome::Cancelled: return "cancelled";
        case TurnOutcome::Timeout: break;
    }
    return "timeout";
}

// Merges one JSON object over another; empty is {}.
void merge_json(std::string& below, std::string_view above) {
    state::Tree tree;
    for (const std::string_view text : {std::string_view(below), above}) {
        json::Document document;
        json::ParseError error;
        if (document.parse(text, error)) tree.merge(document.root());
    }
    below.clear();
    tree.append_json(below);
}

std::string tools_folder(const SessionSettings& settings) {
    return settings.story ? settings.story->folder + "/tools" : std::string();
}

std::string fault_list(const char* rule, const std::string& message) {
    std::string out;
    append_faults(out, {{rule, "", 0, message, ""}}, "");
    return out;
}

}  // namespace

Session::Session(engine::Engine& engine, SessionSettings settings)
    : engine_(engine),
      settings_(std::move(settings)),
      stream_(settings_.id, engine.callback_depth()),
      state_(settings_.limits.history_patches),
      assets_(engine.settings().root),
      runner_settings_{engine.settings().root, settings_.times.grace_ms},
      processes_(std::make_shared<tool::ProcessRunner>(engine.pool(), runner_settings_)),
      registry_(tools_folder(settings_)),
      resolver_(registry_, runners_, tools_folder(settings_)),
      dispatcher_(*this, settings_.story ? settings_.story->folder : std::string(),
                  {registry_, runners_, *processes_}),
      environment_(engine.settings().environment) {
    if (!engine.settings().allow_paths.empty()) {
        resolver_.restrict_to(engine.settings().allow_paths);
    }
    if (settings_.story) {
        if (!settings_.story->allow_paths.empty()) {
            resolver_.restrict_to(settings_.story->allow_paths);
        }
        for (const auto& [name, value] : settings_.story->environment) {
            engine::set_variable(environment_, name + "=" + value);
        }
    }
    add_runners(runners_, processes_, dispatcher_);
    load_plugins();
    choose_narrator();
    dispatcher_.attach_sinks(stream_);
}

void add_wishes(const Story& story, bool with_narrator, plugin::Wishes& wishes) {
    wishes.story_folder = story.folder;
    for (const auto& [id, json] : story.plugins) wishes.named.push_back(id);
    if (with_narrator && story.narrator != kTemplateNarrator) {
        wishes.named.push_back(story.narrator);
    }
}

void Session::load_plugins() {
    if (settings_.without_plugins) return;
    plugin::Wishes wishes;
    wishes.listed = settings_.plugins;
    std::map<std::string, std::string> own_settings;
    if (settings_.story) {
        // Where another narrator stands in for it, the story's need not be there.
        const bool has_other = settings_.narrator || !settings_.narrator_id.empty();
        add_wishes(*settings_.story, !has_other, wishes);
        own_settings = settings_.story->plugins;
    }
    if (!settings_.narrator && !settings_.narrator_id.empty() &&
        settings_.narrator_id != kTemplateNarrator) {
        wishes.listed.push_back(settings_.narrator_id);
    }
    for (const auto& [id, json] : settings_.plugin_settings) merge_json(own_settings[id], json);
    // A host that asks for nothing pays for no search.
    if (!wishes.listed.empty() || !wishes.story_folder.empty()) {
        dispatcher_.load(
            plugin::search(wishes, plugin::places(wishes.story_folder), plugin::safe_mode()),
            own_settings);
    }
    for (const auto& [id, json] : settings_.plugin_settings) {
        if (dispatcher_.knows(id)) continue;
        engine_.log(NAR_LOG_WARN, "plugin_settings has settings for \"" + id +
                                      "\", and no plugin of that id was asked for; list it in "
                                      "plugins");
    }
}

// The host's own, a plugin's, or the one that is built in; all go the same way from here.
void Session::choose_narrator() {
    if (settings_.narrator) {
        narrator_ = *settings_.narrator;
        return;
    }
    std::string id = settings_.narrator_id;
    if (id.empty() && settings_.story) id = settings_.story->narrator;
    if (id.empty()) return;
    if (id == kTemplateNarrator) {
        if (!settings_.story) {
            narrator_fault_ =
                "the narrator \"template\" answers from a story's prompts.json; name a story, too";
            return;
        }
        dispatcher_.add(template_narrator_library(), "",
                        template_narrator_settings(settings_.story->prompts_text));
    }
    if (const auto narrator = dispatcher_.narrator(id)) {
        narrator_ = *narrator;
    } else {
        const std::string reason = dispatcher_.why_not(id);
        narrator_fault_ = (settings_.narrator_id.empty() ? "story.toml asks for the narrator \""
                                                         : "the narrator \"") +
                          id + "\"" +
                          (settings_.without_plugins ? ", and no plugins were to be loaded"
                           : reason.empty()          ? ", and the plugin of that id is no narrator"
                                                     : ", which is not there: " + reason) +
                          " (\"template\" is built in)";
    }
}

const nar_host* Session::extend(plugin::OwnExtension own, std::string& reason) {
    const plugin::Instance* instance = dispatcher_.extend(std::move(own), reason);
    if (instance == nullptr) return nullptr;
    if (const auto narrator = dispatcher_.narrator(*instance)) {
        narrator_ = *narrator;
        narrator_fault_.clear();
    }
    return instance->host();
}

Session::~Session() {
    destroying_ = true;
    runner_settings_.grace_ms = 0;
    request_cancel();
    take_cancel();
    *alive_ = false;
    // While there still is something to read.
    stream_.detach_all();
    if (settings_.narrator && settings_.narrator->released) {
        call_out([&] { settings_.narrator->released(settings_.narrator->user); });
    }
}

// Calls something of the host's: it may come back in, but not drive the loop.
template <typename Call>
void Session::call_out(Call&& call) {
    ++engine_.callback_depth();
    try {
        call();
    } catch (...) {
        engine_.log(NAR_LOG_ERROR, "a callback of the host threw an exception, which was dropped");
    }
    --engine_.callback_depth();
}

std::string Session::plan_folder() const {
    return settings_.story ? settings_.story->folder : engine_.settings().root;
}

bool Session::prompt(std::string text, TurnHandler handler) {
    const size_t prompts =
        static_cast<size_t>(std::count_if(jobs_.begin(), jobs_.end(),
                                          [](const Job& job) { return job.is_prompt; })) +
        (running_ && current_.is_prompt);
    if (prompts >= 2) return false;
    Job job;
    job.number = ++submitted_numbers_;
    job.is_prompt = true;
    job.text = std::move(text);
    job.submitted_us = clock::wall_us();
    job.on_turn = std::move(handler);
    jobs_.push_back(std::move(job));
    submitted_.store(submitted_numbers_);
    begin_soon();
    return true;
}

bool Session::execute(std::string_view text, std::string folder, ExecutionHandler handler,
                      Faults& faults) {
    auto plan = std::make_unique<plan::Plan>();
    if (folder.empty()) folder = plan_folder();
    plan->parse(text, faults);
    if (faults.empty()) add_path_faults(*plan, folder, faults);
    if (!faults.empty()) return false;
    Job job;
    job.number = ++submitted_numbers_;
    job.plan = std::move(plan);
    job.folder = std::move(folder);
    job.on_execution = std::move(handler);
    jobs_.push_back(std::move(job));
    submitted_.store(submitted_numbers_);
    begin_soon();
    return true;
}

void Session::add_path_faults(const plan::Plan& plan, const std::string& folder,
                              Faults& faults) const {
    if (!resolver_.restricts()) return;
    for (size_t i = 0; i < plan.tools.size(); ++i) {
        const tool::Resolution resolution = resolver_.resolve(plan.tools[i].tool_path, folder);
        if (!resolution.forbidden) continue;
        faults.push_back({"plan-path-allowed", "/tools/" + std::to_string(i) + "/toolPath",
                          byte_in(plan, plan.tools[i].tool_path), resolution.error, ""});
    }
}

void Session::begin_soon() {
    if (running_ || begin_requested_ || destroying_) return;
    begin_requested_ = true;
    engine_.loop().defer([this, alive = alive_] {
        if (!*alive) return;
        begin_requested_ = false;
        // What was cancelled before it began does not begin.
        take_cancel();
        begin_next();
    });
}

void Session::begin_next() {
    if (running_ || jobs_.empty()) return;
    running_ = true;
    current_ = std::move(jobs_.front());
    jobs_.pop_front();
    if (!current_.is_prompt) {
        const int64_t attempt = current_.plan->generation_attempt;
        begin_execution(std::move(current_.plan), current_.folder, attempt);
        return;
    }
    begin_turn();
    if (settings_.times.prompt_ms > 0) {
        turn_->prompt_timer.start(settings_.times.prompt_ms,
                                  [this] { cancel_running(plan::Stop::PromptTimeout); });
    }
    generate();
}

void Session::begin_turn() {
    turn_ = std::make_unique<Turn>(engine_.loop());
    std::string body;
    json::ObjectWriter(body)
        .string("text", current_.text)
        .string("timestamp", clock::to_iso8601(current_.submitted_us))
        .end();
    stream_.publish(event::Kind::Prompt, {}, body);
}

void Session::begin_execution(std::unique_ptr<plan::Plan> plan, std::string folder,
                              int64_t generation_attempt) {
    plan::Settings settings;
    settings.folder = std::move(folder);
    settings.number = ++executions_;
    settings.try_ms = settings_.times.try_ms;
    settings.plan_ms = settings_.times.plan_ms;
    settings.generation_attempt = generation_attempt;
    if (turn_) {
        settings.parent_plan_id = turn_->parent_plan_id;
        settings.disabled_skills = turn_->disabled_skills;
    } else if (plan->parent_plan_id) {
        settings.parent_plan_id = *plan->parent_plan_id;
    }
    std::unordered_set<std::string> disabled(settings.disabled_skills.begin(),
                                             settings.disabled_skills.end());
    for (const std::string_view skill : plan->disabled_skills) {
        if (disabled.emplace(skill).second) settings.disabled_skills.emplace_back(skill);
    }
    settings.on_ui_event = [this](uint64_t number, const event::Subject& subject,
                                  const event::Event& event) {
        on_ui_event(number, subject, event);
    };
    settings.on_tools_ended = [this] { render_what_waits(); };
    execution_ = std::make_unique<plan::Execution>(
        plan::ExecutionContext{engine_.loop(), engine_.slots(), resolver_, stream_, state_, assets_,
                               environment_, settings_.limits},
        std::move(plan), std::move(settings),
        [this](std::shared_ptr<plan::Result> result) { on_execution_ended(std::move(result)); });
    execution_->start();
}

void Session::on_ui_event(uint64_t number, const event::Subject& subject,
                          const event::Event& event) {
    const std::string_view name = event.text(event::Field::Event);
    const json::Value payload = event.field(event::Field::Payload);
    if (turn_ && name == "narrative_choice" && payload) note_choices(payload);
    if (dispatcher_.have_renderers() && payload) render_what_is_named(payload);
    if (!dispatcher_.have_handlers()) return;
    const std::string_view shown = payload ? payload.raw() : std::string_view("{}");
    const nar_ui_event out{sizeof out,
                           subject.attempt,
                           number,
                           {subject.plan_id.data(), subject.plan_id.size()},
                           {subject.tool_id.data(), subject.tool_id.size()},
                           {name.data(), name.size()},
                           {shown.data(), shown.size()}};
    if (dispatcher_.handle(out)) return;
    std::string body;
    json::ObjectWriter(body).string("event", name).raw("payload", shown).end();
    stream_.publish(event::Kind::UiPlaceholder, subject, body);
}

void Session::note_choices(json::Value payload) {
    const json::Value choices = payload.is_object() ? payload.find("choices") : json::Value();
    if (!choices || !choices.is_array()) return;
    for (const json::Value choice : choices.elements()) {
        if (!choice.is_string() || choice.text().empty()) return;
    }
    turn_->choices.clear();
    json::append_compact(turn_->choices, choices.raw());
}

// The user interface refers to an asset: now it is shown (spec 000 §4.3).
void Session::render_what_is_named(json::Value value) {
    if (value.is_string()) {
        if (const asset::Asset* asset = assets_.latest(value.text())) render(*asset);
    } else if (value.is_object()) {
        for (const json::Member member : value.members()) render_what_is_named(member.value);
    } else if (value.is_array()) {
        for (const json::Value element : value.elements()) render_what_is_named(element);
    }
}

// A plan that ends refers to all that it made.
void Session::render_what_waits() {
    if (dispatcher_.have_renderers()) {
        const std::vector<asset::Asset>& all = assets_.assets();
        size_t first = all.size();
        while (first > 0 && all[first - 1].execution == executions_) --first;
        for (size_t i = first; i < all.size(); ++i) {
            if (!rendered_.contains(all[i].seq)) render(all[i]);
        }
    }
    rendered_.clear();
}

void Session::render(const asset::Asset& asset) {
    rendered_.insert(asset.seq);
    auto view = [](std::string_view text) { return nar_str{text.data(), text.size()}; };
    const std::string_view metadata =
        asset.metadata.empty() ? std::string_view("{}") : std::string_view(asset.metadata);
    const nar_asset out{sizeof out,          asset.attempt,          asset.seq,
                        view(asset.plan_id), view(asset.tool_id),    view(asset.asset_id),
                        view(asset.kind),    view(asset.media_type), view(asset.path),
                        view(metadata)};
    if (dispatcher_.render(out)) return;
    std::string body;
    json::ObjectWriter(body)
        .string("assetId", asset.asset_id)
        .string("kind", asset.kind)
        .string("mediaType", asset.media_type)
        .string("path", asset.path)
        .raw("metadata", metadata)
        .end();
    stream_.publish(event::Kind::AssetPlaceholder, {asset.plan_id, asset.tool_id, asset.attempt},
                    body);
}

void Session::on_execution_ended(std::shared_ptr<plan::Result> result) {
    execution_.reset();
    if (!turn_) {
        const ExecutionHandler handler = std::move(current_.on_execution);
        end_job();
        if (handler) call_out([&] { handler(std::move(result)); });
        return;
    }
    turn_->result = result;
    if (result->cancelled) return end_turn(TurnOutcome::Cancelled);
    if (prompt_time_is_up_) return end_turn(TurnOutcome::Timeout);
    turn_->narrative = result->narrative;
    if (result->success) return end_turn(TurnOutcome::Completed);
    turn_->parent_plan_id = result->plan_id;
    turn_->disabled_skills = result->disabled_skills;
    turn_->faults = "[]";
    turn_->choices = "[]";
    generate();
}

// ---- a prompt's way

void Session::generate() {
    if (turn_->generation == kMaxGenerations) {
        std::string text = kFallback;
        if (settings_.story && !settings_.story->fallback_templates.empty()) {
            const auto& templates = settings_.story->fallback_templates;
            text = expand_template(templates[fallbacks_++ % templates.size()],
                                   {{"prompt", current_.text}});
        }
        turn_->narrative = text;
        std::string body;
        json::ObjectWriter(body).string("text", text).string("source", "fallback").end();
        stream_.publish(event::Kind::Narrative, {}, body);
        end_turn(TurnOutcome::Fallback);
        return;
    }
    ++turn_->generation;
    turn_->token = inbox().open<NarratorAnswer>(this, *this);
    turn_->tokens.push_back(turn_->token);
    if (settings_.times.narrator_ms > 0) {
        turn_->narrator_timer.start(settings_.times.narrator_ms, [this] {
            // It is in time: the answer waits to be taken, behind this.
            if (inbox().has_end(turn_->token)) return;
            close_question();
            refuse_generation("NARRATOR_TIMEOUT", "narrator-time",
                              "the narrator did not answer within " +
                                  std::to_string(settings_.times.narrator_ms) +
                                  " ms (narrator_ms of [times])");
        });
    }
    const std::string request = narrator_request();
    const uint64_t token = turn_->token;
    call_out([&] { narrator_.generate(narrator_.user, token, {request.data(), request.size()}); });
}

// The answer to the open question is no longer wanted.
void Session::close_question() {
    if (turn_->token == 0) return;
    turn_->narrator_timer.stop();
    const uint64_t token = std::exchange(turn_->token, 0);
    const bool is_answered = inbox().has_end(token);
    inbox().close(token);
    if (narrator_.cancel && !is_answered)
        call_out([&] { narrator_.cancel(narrator_.user, token); });
}

// The open question was answered: tokens of others are closed, and get nothing.
void Session::on_ended(std::any how) {
    const auto answer = std::any_cast<NarratorAnswer>(std::move(how));
    turn_->narrator_timer.stop();
    turn_->token = 0;  // it stays open until the turn ends: a second answer is NAR_STALE
    if (answer.is_plan) {
        take_plan(answer.text);
    } else {
        refuse_generation("NARRATOR_FAILED", "narrator-failed",
                          "the narrator gave no plan: " + answer.text);
    }
}

// Told to the player's interface too: nobody else learns why a turn came to nothing.
void Session::refuse_generation(const char* code, const char* rule, const std::string& message) {
    stream_.warn({}, code,
                 message + " (generation " + std::to_string(turn_->generation) + " of " +
                     std::to_string(kMaxGenerations) + ")");
    refuse_generation(fault_list(rule, message));
}

void Session::refuse_generation(std::string faults) {
    turn_->faults = std::move(faults);
    generate();
}

void Session::take_plan(std::string_view text) {
    auto plan = std::make_unique<plan::Plan>();
    Faults faults;
    plan->parse(text, faults);
    const std::string folder = plan_folder();
    if (faults.empty()) {
        const std::unordered_set<std::string_view> disabled(turn_->disabled_skills.begin(),
                                                            turn_->disabled_skills.end());
        for (size_t i = 0; i < plan->tools.size(); ++i) {
            const std::string_view skill = plan::skill_of(plan->tools[i].tool_path);
            if (!disabled.contains(skill)) continue;
            faults.push_back({"plan-skill-disabled", "/tools/" + std::to_string(i) + "/toolPath",
                              byte_in(*plan, plan->tools[i].tool_path),
                              "the skill \"" + std::string(skill) +
                                  "\" failed in this prompt and is disabled; choose another tool",
                              ""});
        }
        add_path_faults(*plan, folder, faults);
    }
    if (faults.empty()) {
        uint32_t& count = turn_->executions[std::string(plan->request_id)];
        if (count == kMaxExecutionsOfOnePlan) {
            faults.push_back({"plan-execution-limit", "/requestId", 0,
                              "a plan with this requestId was executed three times already in this "
                              "prompt; make a new plan",
                              ""});
        } else {
            ++count;
        }
    }
    if (!faults.empty()) {
        std::string list;
        append_faults(list, faults, text);
        stream_.warn({plan->request_id, {}, 0}, "PLAN_REFUSED",
                     "the narrator's plan was refused: " + describe_faults(faults, text));
        refuse_generation(std::move(list));
        return;
    }
    const event::Subject subject{plan->request_id, {}, 0};
    if (plan->has_generation_attempt && plan->generation_attempt != turn_->generation) {
        stream_.warn(subject, "GENERATION_ATTEMPT",
                     "the plan says that it is generation " +
                         std::to_string(plan->generation_attempt) + "; it is " +
                         std::to_string(turn_->generation));
    }
    if (plan->parent_plan_id && *plan->parent_plan_id != turn_->parent_plan_id) {
        stream_.warn(subject, "PARENT_PLAN",
                     "the plan's parentPlanId is not that of the plan before it");
    }
    begin_execution(std::move(plan), folder, turn_->generation);
}

std::string Session::narrator_request() const {
    std::string out;
    json::ObjectWriter request(out);
    request.string("schema", "narrator-request/1");
    request.string("sessionId", id());
    request.key("prompt");
    json::ObjectWriter(out)
        .string("text", current_.text)
        .string("timestamp", clock::to_iso8601(current_.submitted_us))
        .string("sessionId", id())
        .end();
    request.number("generationAttempt", turn_->generation);
    if (turn_->parent_plan_id.empty()) request.raw("parentPlanId", "null");
    else request.string("parentPlanId", turn_->parent_plan_id);
    request.key("disabledSkills");
    plan::append_strings(out, turn_->disabled_skills);
    request.key("previousResult");
    if (turn_->result) {
        TextOutput output(out);
        turn_->result->write(output, turn_->result->event_bytes() <= kShownEvents);
    } else {
        out += "null";
    }
    request.raw("planFaults", turn_->faults);
    request.key("state");
    state_.tree().append_json(out);
    request.key("tools");
    out += '[';
    for (const auto& tool : registry_.list()) {
        if (out.back() != '[') out += ',';
        json::ObjectWriter entry(out);
        entry.string("name", tool->name);
        // A file says nothing about itself.
        if (tool->origin.kind != tool::Origin::Kind::File) {
            entry.string("description", tool->description);
        }
        if (!tool->input_schema.empty()) entry.raw("inputSchema", tool->input_schema);
        entry.end();
    }
    out += ']';
    request.end();
    return out;
}

void Session::end_turn(TurnOutcome outcome) {
    const std::unique_ptr<Turn> turn = std::move(turn_);
    for (const uint64_t token : turn->tokens) inbox().close(token);
    prompt_time_is_up_ = false;
    std::string body;
    json::ObjectWriter(body)
        .string("outcome", outcome_name(outcome))
        .number("generations", turn->generation)
        .raw("choices", turn->choices)
        .end();
    stream_.publish(event::Kind::TurnEnded, {}, body);
    const TurnHandler handler = std::move(current_.on_turn);
    end_job();
    if (!handler) return;
    call_out([&] {
        handler({outcome, turn->generation, turn->narrative, turn->choices, turn->result});
    });
}

// What ran has come to its end; the next one begins when this call has returned.
void Session::end_job() {
    ended_ = current_.number;
    running_ = false;
    if (!jobs_.empty()) begin_soon();
}

// ---- cancelling

void Session::request_cancel() noexcept {
    // Only what was submitted by now: a prompt that comes right behind is not meant.
    const uint64_t up_to = submitted_.load();
    // Another thread may have seen more of them.
    uint64_t before = cancel_up_to_.load();
    while (before < up_to && !cancel_up_to_.compare_exchange_weak(before, up_to)) {
    }
    engine_.wake();
}

void Session::cancel_running(plan::Stop reason) {
    if (reason == plan::Stop::PromptTimeout) prompt_time_is_up_ = true;
    if (execution_) {
        execution_->stop(reason);
        return;
    }
    if (!turn_) return;
    close_question();
    end_turn(reason == plan::Stop::Cancelled ? TurnOutcome::Cancelled : TurnOutcome::Timeout);
}

void Session::take_cancel() {
    if (!has_cancel()) return;
    const uint64_t up_to = cancel_up_to_.load();
    if (running_ && current_.number <= up_to) cancel_running(plan::Stop::Cancelled);
    while (!running_ && !jobs_.empty() && jobs_.front().number <= up_to) {
        running_ = true;
        current_ = std::move(jobs_.front());
        jobs_.pop_front();
        if (current_.is_prompt) {
            begin_turn();
        } else {
            const int64_t attempt = current_.plan->generation_attempt;
            begin_execution(std::move(current_.plan), current_.folder, attempt);
        }
        cancel_running(plan::Stop::Cancelled);
    }
}

// ---- what plugins ask for

void Session::warn(std::string_view code, std::string_view message) {
    if (destroying_) return;
    engine_.loop().defer(
        [this, alive = alive_, code = std::string(code), message = std::string(message)] {
            if (*alive) stream_.warn({}, code, message);
        });
}

void Session::patch_state(json::Value patch, std::string_view who) {
    const uint64_t number = stream_.take_number();
    const std::shared_ptr<const state::HistoryOrigin> origin =
        std::make_shared<state::HistoryOrigin>(state::HistoryOrigin{"", std::string(who)});
    const std::string_view text = state_.apply_host(patch, {number, clock::wall_us(), 0, origin});
    std::string body;
    json::ObjectWriter(body).raw("patch", text).string("by", who).end();
    stream_.publish(number, event::Kind::StatePatched, {}, body);
}

nar_status Session::read_state(std::string_view pointer, std::string& json) {
    bool malformed = false;
    if (state_.tree().read(pointer, json, malformed)) return NAR_OK;
    return malformed ? NAR_INVALID_ARGUMENT : NAR_NOT_FOUND;
}

nar_status Session::patch_state(std::string_view patch, std::string_view who) {
    json::Document document;
    json::ParseError error;
    if (!document.parse(patch, error) || !document.root().is_object()) return NAR_INVALID_DOCUMENT;
    patch_state(document.root(), who);
    return NAR_OK;
}

nar_status Session::submit_prompt(std::string_view text) {
    if (destroying_) return NAR_GONE;
    if (text.empty() || !utf8::is_valid(text)) return NAR_INVALID_ARGUMENT;
    if (!has_narrator()) return NAR_NOT_FOUND;
    return prompt(std::string(text), {}) ? NAR_OK : NAR_BUSY;
}

nar_status Session::answer(uint64_t token, bool is_plan, std::string text) {
    return inbox().send_end(this, token, NarratorAnswer{is_plan, std::move(text)});
}

}  // namespace narratoria::session
