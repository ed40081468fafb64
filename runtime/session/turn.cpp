// SPDX-License-Identifier: Apache-2.0
#include "session/turn.hpp"

#include <utility>

#include "base/clock.hpp"
#include "base/json/writer.hpp"
#include "session/plan_faults.hpp"
#include "session/story_so_far.hpp"
#include "session/text_template.hpp"

namespace narratoria::session {
namespace {

constexpr uint32_t kMaxExecutionsOfOnePlan = 3;
constexpr uint32_t kMaxContinuations = 4;
// Of a narrative that is told in pieces. It is more than anyone reads: the narrator does not end.
constexpr size_t kMaxPieces = 1024 * 1024;

constexpr const char* kFallback =
    "Nothing comes of it, and the moment passes. What do you do instead?";

const char* outcome_name(TurnOutcome outcome) {
    switch (outcome) {
        case TurnOutcome::Completed: return "completed";
        case TurnOutcome::Fallback: return "fallback";
        case TurnOutcome::Cancelled: return "cancelled";
        case TurnOutcome::Timeout: break;
    }
    return "timeout";
}

journal::TurnStatus status_of(TurnOutcome outcome) {
    switch (outcome) {
        case TurnOutcome::Completed: return journal::TurnStatus::Completed;
        case TurnOutcome::Fallback: return journal::TurnStatus::Fallback;
        case TurnOutcome::Cancelled: return journal::TurnStatus::Cancelled;
        case TurnOutcome::Timeout: break;
    }
    return journal::TurnStatus::Timeout;
}

// The outcome of a recorded turn.
TurnOutcome outcome_of(journal::TurnStatus status) {
    switch (status) {
        case journal::TurnStatus::Completed: return TurnOutcome::Completed;
        case journal::TurnStatus::Fallback: return TurnOutcome::Fallback;
        case journal::TurnStatus::Timeout: return TurnOutcome::Timeout;
        default: return TurnOutcome::Cancelled;
    }
}

// The name of the story's ending in the metadata of a plan.
std::string ending_in(const std::string& metadata) {
    if (metadata.find("\"ending\"") == std::string::npos) return {};
    json::Document document;
    json::ParseError error;
    if (!document.parse(metadata, error, json::kDepthOfOwn)) return {};
    const json::Value ending = document.root().find("ending");
    return ending && ending.is_string() ? std::string(ending.text()) : std::string();
}

// Describes why an executed plan did not succeed.
std::string fault_of(const plan::Result& result) {
    std::string tools;
    for (const plan::ToolResult& tool : result.tools) {
        if (tool.state != plan::State::Failed && tool.state != plan::State::Timeout) continue;
        tools += (tools.empty() ? "" : "; ") + ("\"" + tool.tool_id) + "\": " + tool.error;
    }
    return "its tools failed: " + tools;
}

}  // namespace

Turn::Turn(const TurnContext& context, Actions actions, std::string text, int64_t submitted_us)
    : with_(context),
      actions_(std::move(actions)),
      text_(std::move(text)),
      submitted_us_(submitted_us),
      timer_(with_.loop) {
    with_.presentation.forget_choices();
    if (with_.journal != nullptr) {
        with_.journal->begin_turn(journal::TurnKind::Prompt, text_, submitted_us_);
    }
    std::string body;
    json::ObjectWriter(body)
        .string("text", text_)
        .string("timestamp", clock::to_iso8601(submitted_us_))
        .end();
    with_.stream.publish(event::Kind::Prompt, {}, body);
}

void Turn::begin(std::function<void()> on_timeout) {
    if (with_.settings.times.prompt_ms > 0) {
        timer_.start(with_.settings.times.prompt_ms, [this, on_timeout = std::move(on_timeout)] {
            time_is_up_ = true;
            on_timeout();
        });
    }
    generate();
}

void Turn::stop(TurnOutcome outcome) {
    if (is_ended_) return;
    // Withdraw the question first, so that the narrator ignores the outcomes.
    with_.narrator.withdraw();
    end_invocations(outcome == TurnOutcome::Timeout ? plan::Stop::PromptTimeout
                                                    : plan::Stop::Cancelled);
    end(outcome);
}

void Turn::end(TurnOutcome outcome) {
    // Late answers of this turn return NAR_GONE from now on.
    with_.narrator.forget_questions();
    is_ended_ = true;
    timer_.stop();
    if (with_.playback != nullptr) with_.playback->stop();
    if (outcome != TurnOutcome::Completed) retract();
    decide_choices(outcome);
    tools_ = said_by_tools(result_.get());
    said_.end();
    if (outcome != TurnOutcome::Completed) ending_.clear();
    if (with_.journal == nullptr) return publish_end(outcome, {});
    with_.journal->end_turn(status_of(outcome),
                            [this, outcome](const auto& kept) { publish_end(outcome, kept); });
}

// A turn that did not succeed leaves the player where it began. One without its continuation offers
// what its tools offered, or else the same.
void Turn::decide_choices(TurnOutcome outcome) {
    if (outcome != TurnOutcome::Completed) with_.presentation.drop_choices();
    choices_ = with_.presentation.choices();
    const bool lacks_choices = outcome != TurnOutcome::Completed || lacks_continuation_;
    if (lacks_choices && choices_ == "[]") choices_ = with_.offered;
}

void Turn::publish_end(TurnOutcome outcome, const journal::Journal::StoredTurn& kept) {
    std::string body;
    json::ObjectWriter writer(body);
    writer.string("outcome", outcome_name(outcome))
        .number("generations", generation_)
        .raw("choices", choices_);
    const std::string usage = usage_.is_empty() ? std::string() : usage_.json();
    if (!usage.empty()) writer.raw("usage", usage);
    if (with_.journal != nullptr) {
        writer.number("turn", kept.turn)
            .boolean("durable", kept.is_durable)
            .number("durableSeq", static_cast<int64_t>(kept.durable_seq));
    }
    writer.end();
    with_.stream.publish(event::Kind::TurnEnded, {}, body);
    // `end` may destroy this turn and the function object in it, so the object is moved out first.
    const auto tell = std::move(actions_.end);
    tell({outcome, generation_, std::move(narrative_), said_.text(), std::move(ending_),
          std::move(choices_), std::move(tools_), std::move(metadata_), std::move(result_), usage,
          std::move(fault_), kept});
}

void Turn::generate() {
    retract();
    // The choices of a generation that failed must not be offered to the player.
    with_.presentation.drop_choices();
    if (generation_ == plan::kMaxGenerations) return fall_back();
    ++generation_;
    ask();
}

// The plan has succeeded and wants to be continued.
void Turn::go_on() {
    if (continuation_ == kMaxContinuations) {
        with_.stream.warn({}, "CONTINUE_LIMIT",
                          "the narrator continued this turn " + std::to_string(continuation_) +
                              " times; the turn ends although its last plan has \"continue\"");
        return end(TurnOutcome::Completed);
    }
    ++continuation_;
    told_ = narrative_;
    with_.presentation.keep_choices();
    ask();
}

void Turn::ask() {
    const bool is_recorded =
        with_.playback != nullptr && (with_.playback->has_answer() || with_.playback->is_whole());
    const std::string question = is_recorded ? std::string() : request().write();
    if (with_.journal != nullptr) {
        with_.journal->note(journal::RecordKind::Question, request().write(false));
    }
    invocations_ = std::make_unique<Invocations>(
        Invocations::Context{with_.resolver, with_.folder, disabled_skills_, actions_.open,
                             [this](bool runs) {
                                 if (runs) with_.narrator.pause_time();
                                 else with_.narrator.resume_time();
                             },
                             is_recorded ? with_.playback : nullptr,
                             [this](const plan::ToolResult& tool) {
                                 said_.add_tool(tool);
                                 said_.end();
                             }});
    if (is_recorded) {
        with_.playback->ask(
            {[this](std::string_view text) { on_delta(text); },
             [this](std::string_view line) { on_usage(line); }},
            [this](const auto& answer) { on_recorded_answer(answer); },
            [this] {
                end_invocations(plan::Stop::Cancelled);
                end(outcome_of(with_.playback->turn().status));
            });
    } else {
        with_.narrator.ask(question, with_.settings.times, *this);
    }
}

void Turn::on_recorded_answer(const journal::Playback::Answer& answer) {
    if (answer.is_timeout) return on_narrator_timeout(std::string(answer.text));
    take_answer({answer.is_plan, std::string(answer.text), answer.is_final}, &answer);
}

void Turn::end_invocations(plan::Stop reason) {
    if (!invocations_) return;
    invocations_->end(reason);
    if (const auto& result = invocations_->result()) disabled_skills_ = result->disabled_skills;
}

void Turn::retract() {
    if (pieces_.empty()) return;
    pieces_.clear();
    with_.stream.publish(event::Kind::NarrativeRetracted, {}, "{}");
}

void Turn::fall_back() {
    retract();
    // What was told has happened; only its continuation is missing.
    if (continuation_ > 0 && result_->success) {
        with_.stream.warn({}, "CONTINUATION_FAILED",
                          "the story could not tell what follows: " + fault_);
        lacks_continuation_ = true;
        return end(TurnOutcome::Completed);
    }
    std::string text = kFallback;
    const auto& story = with_.settings.story;
    if (story && !story->fallback_templates.empty()) {
        const auto& templates = story->fallback_templates;
        const NameLookup value_of = [&](std::string_view name) -> std::optional<std::string> {
            if (name == "prompt") return text_;
            const auto pointer = expand_pointer(name, value_of);
            std::string json;
            bool malformed = false;
            json::Document document;
            json::ParseError error;
            const bool is_there = pointer && with_.state.tree().read(*pointer, json, malformed) &&
                                  document.parse(json, error, json::kDepthOfOwn);
            return is_there ? shown(document.root()) : std::string();
        };
        text = expand_template(templates[with_.fallbacks++ % templates.size()], value_of);
    }
    std::string body;
    json::ObjectWriter(body).string("text", text).string("source", "fallback").end();
    narrative_ = joined(told_, text);
    said_.add_narrative(text);
    with_.stream.publish(event::Kind::Narrative, {}, body);
    end(TurnOutcome::Fallback);
}

void Turn::on_delta(std::string_view text) {
    if (pieces_.size() + text.size() > kMaxPieces) {
        with_.narrator.withdraw();
        return on_answer({false, "its narrative is longer than 1 MiB"});
    }
    pieces_ += text;
    std::string body;
    json::ObjectWriter(body).string("text", text).end();
    with_.stream.publish(event::Kind::NarrativeDelta, {}, body);
}

void Turn::on_usage(std::string_view line) {
    if (usage_.is_full()) return;
    usage_.add(line);
    with_.stream.publish(event::Kind::NarratorUsage, {}, line);
}

void Turn::on_answer(NarratorAnswer answer) { take_answer(std::move(answer), nullptr); }

void Turn::take_answer(NarratorAnswer answer, const journal::Playback::Answer* recorded) {
    end_invocations(plan::Stop::Abandoned);
    if (with_.journal != nullptr) {
        if (answer.is_plan) with_.journal->note(journal::RecordKind::Answer, answer.text);
        else with_.journal->note_failure(answer.text, answer.is_final ? journal::kFinalFailure : 0);
    }
    if (const uint32_t count = invocations_->abandoned(); count > 0) {
        with_.stream.warn(
            {}, "INVOCATIONS_CANCELLED",
            "the narrator replied while " + std::to_string(count) +
                (count == 1 ? " tool that it had invoked was" : " tools that it had invoked were") +
                " running; wait for each outcome before you reply");
    }
    if (answer.is_plan) return take_plan(answer.text, recorded);
    std::string message = "the narrator returned no plan: " + answer.text;
    if (!answer.is_final) return refuse("NARRATOR_FAILED", "narrator-failed", message);
    with_.stream.warn({}, "NARRATOR_FAILED", message);
    fault_ = std::move(message);
    fall_back();
}

void Turn::on_narrator_timeout(std::string message) {
    end_invocations(plan::Stop::Abandoned);
    if (with_.journal != nullptr) with_.journal->note_failure(message, journal::kNarratorTimeout);
    // The player waits for each generation, so the warning says how many may follow.
    refuse("NARRATOR_TIMEOUT", "narrator-time", message,
           " (generation " + std::to_string(generation_) + " of " +
               std::to_string(plan::kMaxGenerations) + ")");
}

// Also publishes a warning for the player: the faults go to the narrator only.
void Turn::refuse(const char* code, const char* rule, const std::string& message,
                  const std::string& progress) {
    with_.stream.warn({}, code, message + progress);
    std::string faults;
    append_faults(faults, {{rule, "", 0, message, ""}}, "");
    refuse(message, std::move(faults));
}

void Turn::refuse(std::string fault, std::string faults) {
    fault_ = std::move(fault);
    faults_ = std::move(faults);
    generate();
}

void Turn::take_plan(std::string_view text, const journal::Playback::Answer* recorded) {
    auto plan = std::make_unique<plan::Plan>();
    Faults faults;
    plan->parse(text, faults);
    // A recorded plan that was executed is not checked again: tools and skills may have changed.
    if (faults.empty() && (recorded == nullptr || !recorded->was_executed)) {
        add_skill_faults(*plan, disabled_skills_, faults);
        add_path_faults(*plan, with_.resolver, with_.folder, faults);
    }
    if (faults.empty() && recorded != nullptr && recorded->was_refused) {
        faults.push_back({"recorded", "", 0, "the plan was refused in the recorded turn", ""});
    }
    // Check this last, because it counts the execution: a refused plan must not use one up.
    if (faults.empty() && !may_execute_again(*plan)) {
        faults.push_back({"plan-execution-limit", "/requestId", 0,
                          "a plan with this requestId was already executed three times in this "
                          "prompt; make a new plan",
                          ""});
    }
    const event::Subject subject{plan->request_id, {}, 0};
    if (!faults.empty()) {
        std::string list;
        append_faults(list, faults, text);
        std::string fault = "the narrator's plan was refused: " + describe_faults(faults, text);
        with_.stream.warn(subject, "PLAN_REFUSED", fault);
        // A refused plan is also the parent of the next one if it has a requestId.
        if (!plan->request_id.empty()) parent_plan_id_ = plan->request_id;
        return refuse(std::move(fault), std::move(list));
    }
    if (plan->has_generation_attempt && plan->generation_attempt != generation_) {
        with_.stream.warn(subject, "GENERATION_ATTEMPT",
                          "the plan's generationAttempt is " +
                              std::to_string(plan->generation_attempt) + "; it should be " +
                              std::to_string(generation_));
    }
    if (plan->parent_plan_id && *plan->parent_plan_id != parent_plan_id_) {
        with_.stream.warn(subject, "PARENT_PLAN",
                          "the plan's parentPlanId is not the requestId of the previous plan");
    }
    if (plan->narrative.empty()) plan->set_narrative(std::move(pieces_));
    pieces_.clear();
    metadata_ = plan->metadata;
    actions_.execute(std::move(plan));
}

bool Turn::may_execute_again(const plan::Plan& plan) {
    uint32_t& count = executions_[std::string(plan.request_id)];
    if (count == kMaxExecutionsOfOnePlan) return false;
    ++count;
    return true;
}

void Turn::on_result(std::shared_ptr<const plan::Result> result) {
    const std::shared_ptr<const plan::Result> latest = std::move(result);
    // A continuation that only tells something does not replace the result of the tools before it.
    const bool only_tells = continuation_ > 0 && latest->success && latest->tools.empty();
    if (!only_tells) result_ = latest;
    narrative_ = joined(told_, latest->narrative);
    said_.add_plan(*latest);
    ending_ = latest->success ? ending_in(metadata_) : std::string();
    if (latest->cancelled) return end(TurnOutcome::Cancelled);
    // A plan in which all tools sent `done` succeeds even if time ran out before they exited.
    if (time_is_up_ && !latest->success) return end(TurnOutcome::Timeout);
    faults_ = "[]";
    parent_plan_id_ = latest->plan_id;
    if (latest->success) {
        return latest->continues && !time_is_up_ ? go_on() : end(TurnOutcome::Completed);
    }
    // The player has read the narrative of the failed plan.
    told_ = narrative_;
    disabled_skills_ = latest->disabled_skills;
    fault_ = fault_of(*latest);
    generate();
}

NarratorRequest Turn::request() const {
    return NarratorRequest{with_.stream.session_id(),
                           text_,
                           submitted_us_,
                           generation_,
                           continuation_,
                           with_.random,
                           parent_plan_id_,
                           disabled_skills_,
                           result_.get(),
                           metadata_,
                           invocations_ ? invocations_->result().get() : nullptr,
                           faults_,
                           with_.state,
                           with_.registry,
                           with_.narrator.is_detailed() ? &with_.details : nullptr};
}

}  // namespace narratoria::session
