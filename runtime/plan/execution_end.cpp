// SPDX-License-Identifier: Apache-2.0
#include "plan/execution.hpp"

#include <string>
#include <unordered_set>
#include <utility>

#include "base/clock.hpp"
#include "base/json/writer.hpp"
#include "narratoria/engine.h"
#include "plan/records.hpp"
#include "plan/running_tool.hpp"

namespace narratoria::plan {

void Execution::on_try_timeout(uint32_t tool) {
    Running& running = *running_[tool];
    running.timed_out = true;
    // The end arrives in on_attempt_ended() as usual and is judged there.
    running.attempt->terminate();
}

// The only place that judges the end of an attempt: completed, retried, or failed.
void Execution::on_attempt_ended(uint32_t tool, tool::Outcome outcome) {
    Running& running = *running_[tool];
    running.try_time.stop();
    // Move it out first: from here on stop() must not end or report this attempt.
    const std::unique_ptr<tool::Attempt> ended = std::move(running.attempt);
    running.waits = false;

    State state = outcome.ok ? State::Completed : State::Failed;
    if (running.timed_out) {
        state = State::Timeout;
        outcome.ok = false;
        outcome.code = "TIMEOUT";
        outcome.error = "the tool did not end within " + std::to_string(running.try_ms) + " ms";
        if (!outcome.limit.empty()) outcome.error += "; " + outcome.limit;
    } else if (outcome.is_timeout) {
        state = State::Timeout;
    } else if (running.refusal) {
        state = State::Failed;
        outcome.ok = false;
        outcome.code = running.refusal->code;
        outcome.error = running.refusal->message;
    }
    if (outcome.no_supervisor && settings_.on_no_supervisor) {
        settings_.on_no_supervisor(outcome.error);
    }
    report_attempt(tool, state, outcome);

    const bool may_retry = !outcome.ok && outcome.may_retry && !tool::is_permanent(outcome.code);
    const std::optional<uint64_t> backoff_ms = may_retry ? schedule_.back_off(tool) : std::nullopt;
    if (backoff_ms) {
        running.backoff_timer.start(outcome.is_recorded ? 0 : *backoff_ms, [this, tool] {
            schedule_.resume(tool);
            schedule_ready();
        });
    } else {
        if (!outcome.is_recorded && settings_.log && tool::is_fault_of_program(outcome.code)) {
            settings_.log(NAR_LOG_WARN,
                          "the tool " + json::quoted(plan_->tools[tool].tool_path) +
                              " failed: " + outcome.error + " (" + outcome.code + ")",
                          outcome.code);
        }
        settle(tool, state, std::move(outcome.code), std::move(outcome.error));
    }
    // Other waiters have the next turn. This execution then starts in a later iteration.
    if (give_back(tool)) request_start();
    else schedule_ready();
}

// Records the end of an attempt and publishes it. Moves the result and the diagnostics out of
// `outcome`.
void Execution::report_attempt(uint32_t tool, State state, tool::Outcome& outcome) {
    Running& running = *running_[tool];
    ToolResult& result = results_[tool];
    AttemptRecord& record = running.record;
    record.state = state;
    record.code = outcome.code;
    record.error = outcome.error;
    record.exit_status = outcome.exit_status;
    record.signal = outcome.signal;
    record.execution_ms = clock::steady_ms() - running.attempt_started_ms;
    record.event_count = result.events.count() - record.first_event;
    record.lines_after_done = outcome.lines_after_done;
    record.user_us = outcome.user_us;
    record.system_us = outcome.system_us;
    record.resident_kb = outcome.resident_kb;
    record.traces = std::move(outcome.traces);
    record.guarantees = std::move(outcome.guarantees);
    record.details = std::move(outcome.details);
    result.diagnostics = std::move(outcome.diagnostics);
    result.result = std::move(outcome.result);

    const event::Subject subject = subject_of(tool);
    if (!outcome.warning.empty()) {
        with_.stream.warn(subject, outcome.warning_code, outcome.warning);
    }
    if (outcome.lines_after_done > 0) {
        with_.stream.warn(
            subject, "AFTER_DONE",
            outcome.lines_after_done == 1
                ? std::string("one line came after the done event and was not accepted")
                : std::to_string(outcome.lines_after_done) +
                      " lines came after the done event and were not accepted");
    }
    with_.stream.publish(event::Kind::AttemptEnded, subject,
                         [&] { return records::attempt_ended(record); });
    result.attempts.push_back(record);
}

// A tool has ended. Publishes its end and settles dependents that are skipped because of it.
void Execution::settle(uint32_t tool, State state, std::string code, std::string error) {
    ToolResult& result = results_[tool];
    result.state = state;
    if (running_[tool]) {
        result.execution_ms = clock::steady_ms() - running_[tool]->first_started_ms;
        result.output.clear();
        running_[tool]->output.append_json(result.output);
    }
    if (state != State::Completed) {
        result.error_code = std::move(code);
        result.error = std::move(error);
    }
    result.events.settle();
    publish_end(tool);
    running_[tool].reset();
    if (settings_.on_tool_settled) {
        settled_.push_back(tool);
        if (!notifying_) notify_soon();
    }
    for (const auto [skipped, lacking] : schedule_.settle(tool, state == State::Completed)) {
        const bool failed = results_[lacking].state != State::Skipped;
        ToolResult& its = results_[skipped];
        its.state = State::Skipped;
        its.error_code = failed ? "DEPENDENCY_FAILED" : "DEPENDENCY_SKIPPED";
        its.error = "the tool " + json::quoted(plan_->tools[lacking].tool_id) +
                    ", on which it depends, " + (failed ? "failed" : "was skipped");
        publish_end(skipped);
    }
    if (ended_) return;
    if (is_complete()) return finish_soon();
    if (!settings_.is_open) return;
    if (schedule_.all_settled() && appended_.empty()) plan_time_.pause();
}

void Execution::publish_end(uint32_t tool) {
    with_.stream.publish(event::Kind::ToolEnded, {plan_->request_id, plan_->tools[tool].tool_id, 0},
                         [&] { return records::tool_ended(results_[tool]); });
}

void Execution::finish_soon() {
    with_.loop.defer([this, life = lifetime_.watch()] {
        // Deferred, because on_ended may destroy this execution while callers up the stack still
        // use it.
        if (!life.ended() && !ended_ && is_complete()) finish();
    });
}

void Execution::stop(Stop reason) {
    if (ended_) return;
    take_appended();
    ended_ = true;
    schedule_.stop();
    Ending ending{State::Timeout, "PLAN_TIMEOUT",
                  "the plan did not end within " + std::to_string(settings_.plan_ms) + " ms", true};
    if (reason == Stop::Cancelled) {
        ending = {State::Failed, "CANCELLED", "the plan was cancelled", false};
    } else if (reason == Stop::PromptTimeout) {
        ending = {State::Timeout, "PROMPT_TIMEOUT", "the prompt did not end within its time limit",
                  true};
    } else if (reason == Stop::Abandoned) {
        ending = {State::Failed, "CANCELLED", "the caller no longer waits for the tool", true};
    }
    announce_until(plan_->tools.size());
    result_->cancelled = reason == Stop::Cancelled;
    for (uint32_t i = 0; i < running_.size(); ++i) {
        if (schedule_.is_settled(i)) continue;
        const bool was_cut_short = end_tool(i, ending);
        result_->timed_out |= was_cut_short && ending.state == State::Timeout;
    }
    finish();
}

// Ends an unsettled tool. Returns false if its `done` event decided the outcome.
bool Execution::end_tool(uint32_t tool, const Ending& ending) {
    if (!running_[tool]) {
        settle(tool, State::Skipped, ending.code, ending.what);
        return true;
    }
    Running& running = *running_[tool];
    State state = ending.state;
    tool::Outcome outcome;
    const bool only_lingers = running.attempt && running.done && ending.done_decides;
    if (only_lingers) {
        // Same as at the timeout of an attempt.
        outcome = running.attempt->outcome_of_done();
        state = outcome.ok ? State::Completed : State::Failed;
        if (outcome.warning.empty()) {
            outcome.warning_code = "LINGERED";
            outcome.warning = "the tool was still running after its done event when " +
                              ending.what + "; it was terminated";
        }
    } else {
        outcome.code = ending.code;
        outcome.error = ending.what;
        if (running.attempt) {
            outcome.diagnostics = running.attempt->diagnostics();
            outcome.traces = running.attempt->traces_of_abandoned(outcome);
        }
    }
    if (running.attempt) {
        report_attempt(tool, state, outcome);
        give_back(tool);
    }
    // settle() destroys the attempt, and the runner kills its processes in the background.
    settle(tool, state, outcome.code, outcome.error);
    return !only_lingers;
}

void Execution::finish() {
    ended_ = true;
    if (settings_.on_tool_settled) notify_settled();
    plan_time_.stop();
    shortage_timer_.stop();
    stop_waiting_for_slots();
    end_descriptor_wait();
    if (settings_.on_tools_ended) settings_.on_tools_ended();

    Result& result = *result_;
    result.execution_ms = clock::steady_ms() - started_ms_;
    result.success = !result.cancelled && !result.timed_out;
    result.disabled_skills = settings_.disabled_skills;
    std::unordered_set<std::string_view> disabled(settings_.disabled_skills.begin(),
                                                  settings_.disabled_skills.end());
    const auto disable = [&](std::string_view skill) {
        if (disabled.insert(skill).second) result.disabled_skills.emplace_back(skill);
    };
    for (const std::string& skill : failed_skills_) disable(skill);
    for (uint32_t i = 0; i < results_.size(); ++i) {
        const ToolResult& tool = results_[i];
        if (plan_->tools[i].required && !tool.ok() && tool.state != State::Skipped) {
            result.success = false;
        }
        if (tool.state != State::Failed && tool.state != State::Timeout) continue;
        result.failed_tools.push_back(tool.tool_id);
        disable(skill_of(plan_->tools[i].tool_path));
    }
    if (!settings_.is_open) result.tools = std::move(results_);
    result.can_replan =
        !result.success && !result.cancelled && settings_.generation_attempt < kMaxGenerations;
    with_.stream.publish(event::Kind::PlanEnded, {plan_->request_id, {}, 0},
                         records::plan_ended(result));
    // Move it to the stack: the call may destroy this execution and its members.
    const auto on_ended = std::move(on_ended_);
    on_ended(result_);
    // `this` may be destroyed.
}

}  // namespace narratoria::plan
