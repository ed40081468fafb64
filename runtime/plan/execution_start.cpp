// SPDX-License-Identifier: Apache-2.0
#include "plan/execution.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/clock.hpp"
#include "base/json/writer.hpp"
#include "plan/records.hpp"
#include "plan/request.hpp"
#include "plan/running_tool.hpp"

namespace narratoria::plan {
namespace {

// Retry interval after a shortage of descriptors.
constexpr uint64_t kShortagePauseMs = 20;
// The number of starts before the loop reads the output of running tools again. A thousand starts
// in a row would leave it unread for half a second.
constexpr uint32_t kStartsInARow = 8;
// The number of tool_pending records between two checks of the clock: about 100 µs.
constexpr uint32_t kAnnouncedInARow = 64;

// A failed start is handled like a failed attempt, including retries.
tool::Outcome outcome_of(const tool::StartFailure& failure) {
    tool::Outcome outcome;
    outcome.code = failure.code;
    outcome.error = failure.message;
    outcome.no_supervisor = failure.no_supervisor;
    outcome.may_retry = failure.may_retry;
    return outcome;
}

}  // namespace

// Tools that only wait have their own slots: with slots of computing tools they would leave cores
// idle.
JobSlots& Execution::slots_of(uint32_t tool) const {
    return with_.resolver.waits(plan_->tools[tool].tool_path) ? with_.waiting_slots : with_.slots;
}

// Returns the slot of an attempt. True if the other waiters have the next turn.
bool Execution::give_back(uint32_t tool) {
    JobSlots* const held = std::exchange(held_[tool], nullptr);
    return held != nullptr && held->give_back();
}

bool Execution::is_recorded(uint32_t tool) const {
    return with_.recording != nullptr && with_.recording->has(plan_->tools[tool].tool_id);
}

void Execution::stop_waiting_for_slots() {
    with_.slots.stop_waiting(this);
    with_.waiting_slots.stop_waiting(this);
}

// Polls with a timer: the end of any process of the host may free descriptors, without
// notification.
void Execution::wait_for_descriptors(uint32_t tool) {
    if (!descriptor_wait_since_ms_) {
        descriptor_wait_since_ms_ = clock::steady_ms();
        warn_and_log("DESCRIPTORS_SHORT",
                     "tool " + json::quoted(plan_->tools[tool].tool_id) +
                         " cannot be started and waits until a process ends: " + shortage_);
    }
    if (!shortage_timer_.running()) {
        shortage_timer_.start(kShortagePauseMs, [this] { request_start(); });
    }
}

// Reports the time for which tools waited for descriptors.
void Execution::end_descriptor_wait() {
    if (!descriptor_wait_since_ms_) return;
    const int64_t waited_ms = clock::steady_ms() - *descriptor_wait_since_ms_;
    descriptor_wait_since_ms_.reset();
    result_->descriptor_wait_ms += waited_ms;
    warn_and_log("DESCRIPTORS_WAITED",
                 "tools waited " + std::to_string(waited_ms) +
                     " ms for file descriptors; raise the limit on open files (ulimit -n)");
}

void Execution::schedule_ready() {
    if (starting_ || start_requested_ || ended_) return;
    // Announce all tools as pending before the first starts. For a large plan this takes several
    // frames.
    const size_t count = plan_->tools.size();
    while (announced_ < count) {
        announce_until(std::min(count, size_t{announced_} + kAnnouncedInARow));
        if (with_.loop.time_is_up()) return request_start();
    }
    starting_ = true;
    // Resets `starting_` even if an exception such as bad_alloc leaves this function.
    struct Ended {
        bool& starting;
        ~Ended() { starting = false; }
    } const ended{starting_};
    // A start that fails immediately settles its tool, which may make other tools ready. This loop
    // starts them; `starting_` prevents the nested call.
    for (uint32_t starts = 0;; ++starts) {
        const uint32_t tool = schedule_.next();
        if (tool == Schedule::kNone) {
            end_descriptor_wait();
            if (with_.recording != nullptr && !schedule_.has_pause()) {
                with_.recording->on_waiting(schedule_.running());
            }
            break;
        }
        if (starts == kStartsInARow || with_.loop.time_is_up()) {
            request_start();
            break;
        }
        // A recorded tool takes no slot: it and running tools must not wait for each other.
        if (is_recorded(tool)) {
            if (!with_.recording->may_start()) break;
            schedule_.start(tool);
            start_recorded(tool);
            continue;
        }
        JobSlots& slots = slots_of(tool);
        if (!slots.take(this)) {
            slots.wait(this, JobSlots::WaitReason::Slot, [this] { request_start(); });
            break;
        }
        held_[tool] = &slots;
        schedule_.start(tool);
        if (start_attempt(tool)) continue;
        // Out of descriptors: undo the start, which does not count as an attempt.
        schedule_.put_back(tool);
        held_[tool] = nullptr;
        slots.give_back_unused();
        slots.wait(this, JobSlots::WaitReason::Descriptors, [this] { request_start(); });
        wait_for_descriptors(tool);
        break;
    }
}

void Execution::start_recorded(uint32_t tool) {
    const bool first = running_[tool] == nullptr;
    auto fresh = first ? std::make_unique<Running>(*this, tool) : nullptr;
    Running& running = first ? *fresh : *running_[tool];
    Start start{tool, std::move(fresh), running, nullptr};
    report_start(start);
    running.attempt =
        with_.recording->start(plan_->tools[tool].tool_id, schedule_.attempt(tool), running);
}

bool Execution::start_attempt(uint32_t tool) {
    const Tool& entry = plan_->tools[tool];
    const bool first = running_[tool] == nullptr;
    // Not in running_ until the start succeeds: after a shortage the tool must be in the state
    // before its start.
    auto fresh = first ? std::make_unique<Running>(*this, tool) : nullptr;
    Running& running = first ? *fresh : *running_[tool];

    const tool::Resolution resolution = with_.resolver.resolve(entry.tool_path, settings_.folder);
    Start start{tool, std::move(fresh), running, resolution.definition};
    running.starting = &start;
    // Precedence of timeouts: the plan's, then that of the tool's definition, then the session's.
    uint64_t try_ms = entry.try_ms.value_or(settings_.try_ms);
    if (!entry.try_ms && resolution.definition) {
        try_ms = resolution.definition->try_ms.value_or(try_ms);
    }
    tool::StartFailure failure;
    failure.message = resolution.error;
    failure.may_retry = resolution.error.empty();
    std::unique_ptr<tool::Attempt> attempt;
    const tool::ProjectBinding* const binding =
        resolution.definition ? resolution.definition->binding.get() : nullptr;
    std::string request;
    if (resolution.error.empty() || binding != nullptr) {
        const auto& wanted = resolution.definition->state;
        request = request_of(*plan_, tool, results_,
                             wanted.empty() ? std::string() : with_.state.tree().part(wanted),
                             seed_of(settings_.seed, entry.tool_id, schedule_.attempt(tool)));
    }
    Guarantees guarantees;
    if (resolution.error.empty()) {
        std::vector<std::string> environment;
        const bool has_own = entry.environment && !entry.environment.empty();
        if (has_own) environment = environment_of(entry, with_.environment);
        tool::Invocation invocation;
        invocation.definition = resolution.definition.get();
        invocation.target = resolution.target;
        invocation.tool_path = entry.tool_path;
        invocation.plan_id = plan_->request_id;
        invocation.tool_id = entry.tool_id;
        invocation.folder = settings_.folder;
        invocation.attempt = schedule_.attempt(tool);
        invocation.try_ms = try_ms;
        invocation.is_of_script = entry.line > 0;
        invocation.is_checked =
            entry.checked_by != nullptr && entry.checked_by == resolution.definition.get();
        invocation.limits = with_.limits;
        tool::apply(resolution.definition->limits, invocation.limits);
        invocation.request = request;
        if (!with_.sandbox.empty()) {
            guarantees = with_.sandbox.guarantees_of(resolution.definition->name, entry.tool_path,
                                                     resolution.target);
            if (guarantees.any()) invocation.guarantees = &guarantees;
        }
        invocation.environment = has_own ? &environment : &with_.environment;
        // Check before the start: a process left by a failed start is not a reason to wait.
        const bool others_end = with_.slots.used() + with_.waiting_slots.used() > 1 ||
                                (settings_.has_processes && settings_.has_processes());
        if (!resolution.definition->repeatable && settings_.before_unrepeatable) {
            settings_.before_unrepeatable({plan_->request_id, entry.tool_id, 0},
                                          records::tool_started(entry));
        }
        attempt = resolution.runner->start(invocation, running, failure);
        if (!attempt && failure.shortage && running.starting != nullptr) {
            // The end of a different tool or of an ending process will free descriptors. Nothing
            // was published or counted yet, so the caller can undo the start.
            if (others_end) {
                shortage_ = std::move(failure.message);
                running.starting = nullptr;
                return false;
            }
            failure.message +=
                "; no running tool will free any when it ends, so raise the limit (ulimit -n) or "
                "close unused descriptors";
        }
    }

    tool::Outcome failed;
    if (!attempt) {
        failed = outcome_of(failure);
        if (binding != nullptr) {
            failed.traces =
                binding->traces_of({guarantees, request, try_ms, failure, resolution.forbidden});
        }
    }
    take_attempt(start, std::move(attempt), try_ms, std::move(failed));
    return true;
}

// Goes on with a started attempt. NULL: the start `failed`.
void Execution::take_attempt(Start& start, std::unique_ptr<tool::Attempt> attempt, uint64_t try_ms,
                             tool::Outcome failed) {
    const uint32_t tool = start.tool;
    Running& running = start.running;
    if (running.starting != nullptr) report_start(start);
    running.attempt = std::move(attempt);
    if (!running.attempt) return on_attempt_ended(tool, std::move(failed));
    running.try_ms = try_ms;
    running.attempt->deliver_early();
    if (running_[tool] == nullptr || running_[tool]->attempt == nullptr) return;
    // A tool that acted during its start may already have sent `done`, or had a patch refused.
    if (try_ms > 0 && !running.done && !running.refusal) {
        running.try_time.start(try_ms, [this, tool] { on_try_timeout(tool); });
        if (running.waits) running.try_time.pause();
    }
}

// Starts a tool of an open execution that has no other tools. Most functions succeed within their
// start, and report nothing but their result: these are never in the plan, and `result` is their
// result. A tool that needs more is placed in the plan, and is then like any other.
Execution::Alone Execution::start_alone(ToolInvocation& invocation, const ToolResult*& result) {
    if (next_position() > 0 || with_.recording != nullptr || !with_.sandbox.empty()) {
        return Alone::Impossible;
    }
    KnownTool* const known = known_tools_.find(invocation);
    if (known == nullptr) return Alone::Impossible;
    const tool::Resolution& resolution = known->resolution();
    const tool::Definition& definition = *resolution.definition;
    // A synchronous tool never outlasts its start, and the engine thread is running already.
    JobSlots* slots = nullptr;
    if (!definition.is_synchronous) {
        slots = definition.waits ? &with_.waiting_slots : &with_.slots;
        if (!slots->take(this)) return Alone::Impossible;
    }
    auto fresh = spare_ ? std::move(spare_) : std::make_unique<Running>(*this, 0);
    Running& running = *fresh;
    Start start{.tool = 0,
                .fresh = std::move(fresh),
                .running = running,
                .definition = nullptr,
                .alone = &invocation,
                .slots = slots};
    // Ends the start even if an exception such as bad_alloc leaves this function.
    struct Ended {
        Execution& execution;
        Start& start;
        ~Ended() {
            execution.alone_ = nullptr;
            if (start.slots != nullptr) start.slots->give_back();
        }
    } const ended{*this, start};
    running.starting = alone_ = &start;
    tool::Invocation given = known->begin(invocation);
    given.folder = settings_.folder;
    given.try_ms = definition.try_ms.value_or(settings_.try_ms);
    given.environment = &with_.environment;
    given.success = &start.success;
    const bool is_observed = with_.stream.is_observed();
    if (is_observed) known->publish_pending(with_.stream);
    tool::StartFailure failure;
    auto attempt = resolution.runner->start(given, running, failure);
    if (attempt == nullptr && failure.shortage && start.alone != nullptr) {
        // It waits for descriptors like any other tool.
        running.starting = nullptr;
        announced_ = 1;
        return Alone::Impossible;
    }
    if (!start.success.has_succeeded) {
        place(start);
        take_attempt(start, std::move(attempt), given.try_ms, outcome_of(failure));
        return Alone::Started;
    }
    alone_ = nullptr;
    running.starting = nullptr;
    spare_ = std::move(start.fresh);
    const int64_t execution_ms = clock::steady_us() / 1000 - start.started_us / 1000;
    result =
        &known->succeed(start.success.result, known_tools_.wall_us(start.started_us), execution_ms);
    if (is_observed) known->publish_ended(with_.stream);
    result_->ended.add_plain(*result, static_cast<uint32_t>(result_->tools.size()));
    if (!failed_skills_.empty()) std::erase(failed_skills_, skill_of(given.tool_path));
    if (execution_ms > 0) spend_plan_time(execution_ms);
    ++batch_;
    return Alone::Ended;
}

// Counts the time of a tool that was never in the plan.
void Execution::spend_plan_time(int64_t milliseconds) {
    plan_time_.spend(static_cast<uint64_t>(milliseconds));
    if (!plan_time_.is_used_up()) return;
    with_.loop.defer([this, life = lifetime_.watch()] {
        if (!life.ended()) stop(Stop::PlanTimeout);
    });
}

// Puts the tool of start_alone() into the plan.
void Execution::place(Start& start) {
    if (start.alone == nullptr) return;
    start.success.is_wanted = false;
    start.definition = start.alone->checked_by;
    announced_ = 1;
    add(std::move(*std::exchange(start.alone, nullptr)));
    plan_time_.resume();
    held_[0] = std::exchange(start.slots, nullptr);
    schedule_.start(0);
}

// Publishes the start of an attempt, which cannot be undone afterwards.
void Execution::report_start(Start& start) {
    place(start);
    const uint32_t tool = start.tool;
    const Tool& entry = plan_->tools[tool];
    Running& running = start.running;
    running.starting = nullptr;
    const int64_t started_ms = start.started_us / 1000;
    if (start.fresh) {
        running_[tool] = std::move(start.fresh);
        running.first_started_ms = started_ms;
        running.writer = with_.state.open_writer(schedule_.is_exclusive(tool));
        with_.stream.publish(event::Kind::ToolStarted, {plan_->request_id, entry.tool_id, 0},
                             [&] { return records::tool_started(entry); });
    } else {
        // A retry starts from the beginning: only the events and the list of attempts are kept.
        running.record = AttemptRecord();
        running.output.clear();
        results_[tool].result.clear();
        results_[tool].summary.clear();
        results_[tool].diagnostics.clear();
    }
    running.record.attempt = schedule_.attempt(tool);
    running.definition = std::move(start.definition);
    running.attempt_started_ms = started_ms;
    running.timed_out = running.done = false;
    running.refusal.reset();
    running.warned_request_id = running.warned_timestamp = false;
    running.record.first_event = results_[tool].events.count();
    running.record.started_us = known_tools_.wall_us(start.started_us);
    with_.stream.publish(event::Kind::AttemptStarted, subject_of(tool),
                         [&] { return records::attempt_started(running.record.attempt); });
}

}  // namespace narratoria::plan
