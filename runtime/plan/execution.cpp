// SPDX-License-Identifier: Apache-2.0
#include "plan/execution.hpp"

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "base/json/writer.hpp"
#include "narratoria/engine.h"
#include "plan/records.hpp"
#include "plan/running_tool.hpp"

namespace narratoria::plan {

Execution::Execution(ExecutionContext context, std::unique_ptr<Plan> plan, Settings settings,
                     std::function<void(std::shared_ptr<Result>)> on_ended)
    : with_(context),
      plan_(std::move(plan)),
      settings_(std::move(settings)),
      on_ended_(std::move(on_ended)),
      result_(std::make_shared<Result>()),
      schedule_(*plan_),
      running_(plan_->tools.size()),
      held_(plan_->tools.size()),
      conflicts_(result_->conflicts),
      known_tools_(plan_->request_id, with_.resolver, settings_.folder, with_.limits,
                   settings_.seed),
      plan_time_(with_.loop),
      shortage_timer_(with_.loop) {}

Execution::~Execution() {
    lifetime_.end();
    stop_waiting_for_slots();
    // Return the slots of running tools: the engine outlives a session.
    for (uint32_t i = 0; i < held_.size(); ++i) give_back(i);
}

event::Subject Execution::subject_of(uint32_t tool) const {
    const auto& running = running_[tool];
    return {plan_->request_id, plan_->tools[tool].tool_id, running ? running->record.attempt : 0};
}

void Execution::start() {
    started_ms_ = clock::steady_ms();
    const auto count = static_cast<uint32_t>(plan_->tools.size());
    result_->plan_id = plan_->request_id;
    result_->narrative = plan_->narrative;
    result_->continues = plan_->continues;
    result_->choices.assign(plan_->choices.begin(), plan_->choices.end());
    result_->generation_attempt = settings_.generation_attempt;
    result_->spool = std::make_shared<EventSpool>();
    results_.reserve(count);

    if (with_.recording != nullptr) {
        with_.recording->begin(*plan_, [this, life = lifetime_.watch()] {
            if (!life.ended()) request_start();
        });
    }
    event::Stream& stream = with_.stream;
    const event::Subject subject{plan_->request_id, {}, 0};
    stream.publish(event::Kind::PlanStarted, subject, [&] {
        return records::plan_started(*plan_, settings_.generation_attempt, settings_.parent_plan_id,
                                     settings_.is_open);
    });
    if (!plan_->narrative.empty()) {
        stream.publish(event::Kind::Narrative, subject, records::narrative(plan_->narrative));
    }
    for (const Fault& fault : plan_->warnings()) {
        stream.warn(subject, "UNKNOWN_MEMBER", fault.pointer + ": " + fault.message);
    }
    for (uint32_t i = 0; i < count; ++i) add_result(i);

    plan_time_.start(settings_.plan_ms, [this] { stop(Stop::PlanTimeout); });
    if (settings_.is_open) plan_time_.pause();
    else if (count == 0) finish_soon();
    if (count > 0) request_start();
}

void Execution::add_result(uint32_t tool) {
    ToolResult& result = results_.emplace_back(result_->spool);
    result.tool_id = plan_->tools[tool].tool_id;
    result.line = plan_->tools[tool].line;
}

void Execution::announce_until(size_t end) {
    for (; announced_ < end; ++announced_) {
        with_.stream.publish(event::Kind::ToolPending, subject_of(announced_),
                             [&] { return records::tool_pending(*plan_, announced_); });
    }
}

uint32_t Execution::append(ToolInvocation&& invocation, std::optional<ToolRefusal> refusal) {
    if (!settings_.is_open || closed_ || ended_) return kNone;
    if (alone_ != nullptr) place(*alone_);
    const uint32_t position = next_position();
    appended_.push_back({std::move(invocation), std::move(refusal)});
    plan_time_.resume();
    request_start();
    return position;
}

uint32_t Execution::run(ToolInvocation&& invocation, std::optional<ToolRefusal> refusal) {
    // Earlier tools start first.
    if (closed_ || ended_ || starting_ || start_requested_ || alone_ != nullptr) {
        return append(std::move(invocation), std::move(refusal));
    }
    const uint32_t position = next_position();
    const ToolResult* result = nullptr;
    notifying_ = true;
    try {
        if (refusal || start_alone(invocation, result) == Alone::Impossible) {
            plan_time_.resume();
            add(std::move(invocation));
            if (refusal) refuse(std::move(*refusal));
            schedule_ready();
        }
    } catch (...) {
        notifying_ = false;
        notify_soon();
        throw;
    }
    notifying_ = false;
    if (result != nullptr) settings_.on_tool_settled(position, *result);
    else notify_settled();
    return position;
}

// Called from the loop, because the callers of append() may hold references to tools and results.
void Execution::take_appended() {
    std::vector<Appended> taken;
    taken.swap(appended_);
    for (Appended& each : taken) {
        add(std::move(each.invocation));
        if (each.refusal) refuse(std::move(*each.refusal));
    }
    if (!schedule_.all_settled()) plan_time_.resume();
}

void Execution::add(ToolInvocation&& invocation) {
    const auto tool = static_cast<uint32_t>(plan_->tools.size());
    plan_->append(std::move(invocation));
    schedule_.grow();
    running_.emplace_back();
    held_.push_back(nullptr);
    add_result(tool);
    announce_until(tool + size_t{1});
}

// Ends the tool that was added last.
void Execution::refuse(ToolRefusal refusal) {
    settle(static_cast<uint32_t>(plan_->tools.size() - 1), State::Failed, std::move(refusal.code),
           std::move(refusal.message));
}

void Execution::cancel(uint32_t tool) {
    with_.loop.defer([this, tool, batch = batch_, life = lifetime_.watch()] {
        if (life.ended() || ended_ || batch != batch_) return;
        take_appended();
        if (tool >= plan_->tools.size() || schedule_.is_settled(tool)) return;
        end_tool(tool, {State::Failed, "CANCELLED", "the invocation was cancelled", false});
        request_start();
    });
}

void Execution::close() {
    closed_ = true;
    if (is_complete()) finish_soon();
}

bool Execution::is_complete() const {
    return schedule_.all_settled() && appended_.empty() && (closed_ || !settings_.is_open);
}

void Execution::notify_soon() {
    if (notify_requested_) return;
    with_.loop.defer([this, life = lifetime_.watch()] {
        if (life.ended()) return;
        notify_requested_ = false;
        notify_settled();
    });
    notify_requested_ = true;
}

// The callback may append, stop or close.
void Execution::notify_settled() {
    const Lifetime::Watch life = lifetime_.watch();
    while (!life.ended() && !settled_.empty()) {
        const uint32_t tool = settled_.front();
        settled_.pop_front();
        settings_.on_tool_settled(tool, results_[tool]);
    }
    if (!life.ended() && next_position() > 0 && appended_.empty() && schedule_.all_settled())
        end_batch();
}

// All tools of an open execution have ended and were reported: moves their results to their
// compact form and starts over, so that the memory does not grow with tools that have ended.
void Execution::end_batch() {
    for (uint32_t i = 0; i < results_.size(); ++i) {
        ToolResult& result = results_[i];
        const std::string_view skill = skill_of(plan_->tools[i].tool_path);
        // The caller learns of a failure and may retry with a better input. A skill is disabled
        // only if no later tool with it completed.
        if (result.ok()) {
            std::erase(failed_skills_, skill);
        } else if (result.state == State::Failed || result.state == State::Timeout) {
            result_->failed_tools.push_back(result.tool_id);
            const bool has_run = !result.attempts.empty() && result.error_code != "CANCELLED";
            const bool is_new = std::find(failed_skills_.begin(), failed_skills_.end(), skill) ==
                                failed_skills_.end();
            if (has_run && is_new) failed_skills_.emplace_back(skill);
        }
        result_->add_ended(std::move(result));
    }
    results_.clear();
    running_.clear();
    held_.clear();
    plan_->clear();
    schedule_.clear();
    conflicts_.forget_writers();
    announced_ = 0;
    ++batch_;
}

void Execution::request_start() {
    if (start_requested_) return;
    start_requested_ = true;
    // `life` guards against a deferred task that outlives this execution.
    with_.loop.defer([this, life = lifetime_.watch()] {
        if (life.ended()) return;
        start_requested_ = false;
        if (!ended_) take_appended();
        schedule_ready();
    });
}

void Execution::warn_and_log(std::string_view code, const std::string& message) {
    with_.stream.warn({plan_->request_id, {}, 0}, code, message);
    if (settings_.log) {
        settings_.log(NAR_LOG_WARN, "plan " + json::quoted(plan_->request_id) + ": " + message,
                      code);
    }
}

}  // namespace narratoria::plan
