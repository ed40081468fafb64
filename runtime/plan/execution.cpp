// SPDX-License-Identifier: Apache-2.0
#include "plan/execution.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/clock.hpp"
#include "base/json/writer.hpp"
#include "narratoria/engine.h"
#include "plan/records.hpp"
#include "plan/request.hpp"
#include "tool/runner/call_trace.hpp"

namespace narratoria::plan {
namespace {

// Retry interval after a shortage of descriptors.
constexpr uint64_t kShortagePauseMs = 20;
// The number of starts before the loop reads the output of running tools again. A thousand starts
// in a row would leave it unread for half a second.
constexpr uint32_t kStartsInARow = 8;
// The number of tool_pending records between two checks of the clock: about 100 µs.
constexpr uint32_t kAnnouncedInARow = 64;

std::string named(std::string_view text) {
    std::string out;
    json::append_string(out, text);
    return out;
}

}  // namespace

// A tool from its first start until it settles: the current attempt, and the data of all attempts.
// The destructor ends the attempt and closes the writer.
class Execution::Running : public tool::AttemptListener {
public:
    Running(Execution& execution, uint32_t tool)
        : execution_(execution),
          tool_(tool),
          try_timer(execution.with_.loop),
          backoff_timer(execution.with_.loop) {}
    ~Running() {
        if (writer != state::kHost) execution_.with_.state.close_writer(writer);
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

    void on_started() override {
        if (starting != nullptr) execution_.report_start(*starting);
    }
    void on_batch() override { execution_.with_.stream.begin_batch(clock::wall_us()); }
    void on_batch_end() override { execution_.with_.stream.end_batch(); }
    void on_event(const event::Event& event) override { execution_.on_event(tool_, event); }
    void on_ended(tool::Outcome outcome) override {
        execution_.on_attempt_ended(tool_, std::move(outcome));
    }

private:
    Execution& execution_;
    uint32_t tool_;

public:
    std::shared_ptr<const tool::Definition> definition;  // of the attempt; must outlive it
    std::unique_ptr<tool::Attempt> attempt;
    Start* starting = nullptr;  // set until start_attempt() has reported the start
    AttemptRecord record;
    state::Tree output;
    // The origin of its patches; created with the first one.
    std::shared_ptr<const state::HistoryOrigin> origin;
    state::Writer writer = state::kHost;  // opened at the first start
    Timer try_timer;
    uint64_t try_ms = 0;  // 0: none
    Timer backoff_timer;
    int64_t first_started_ms = 0;
    int64_t attempt_started_ms = 0;
    bool timed_out = false;
    std::optional<state::Refusal> refusal;  // of the attempt's first refused patch
    bool done = false;
    bool warned_request_id = false;
    bool warned_timestamp = false;
};

// A start that is not reported yet and can be undone.
struct Execution::Start {
    uint32_t tool;
    std::unique_ptr<Running> fresh;  // NULL: a retry
    Running& running;
    std::shared_ptr<const tool::Definition> definition;
};

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
      at_once_(*plan_, settings_, with_, *result_),
      plan_time_(with_.loop),
      shortage_timer_(with_.loop) {}

Execution::~Execution() {
    *alive_ = false;
    stop_waiting_for_slots();
    // Return the slots of running tools: the engine outlives a session.
    for (uint32_t i = 0; i < held_.size(); ++i) give_back(i);
}

event::Subject Execution::subject_of(uint32_t tool) const {
    const auto& running = running_[tool];
    return {plan_->request_id, plan_->tools[tool].tool_id, running ? running->record.attempt : 0};
}

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

void Execution::start() {
    started_ms_ = clock::steady_ms();
    const auto count = static_cast<uint32_t>(plan_->tools.size());
    result_->plan_id = plan_->request_id;
    result_->narrative = plan_->narrative;
    result_->generation_attempt = settings_.generation_attempt;
    result_->spool = std::make_shared<EventSpool>();
    results_.reserve(count);

    if (with_.recording != nullptr) {
        with_.recording->begin(*plan_, [this, alive = alive_] {
            if (*alive) request_start();
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
        if (at_once_.has_announced(plan_->tools[announced_].tool_id)) continue;
        with_.stream.publish(event::Kind::ToolPending, subject_of(announced_),
                             [&] { return records::tool_pending(*plan_, announced_); });
    }
}

uint32_t Execution::append(ToolInvocation invocation, std::optional<ToolRefusal> refusal) {
    if (!settings_.is_open || closed_ || ended_) return kNone;
    const uint32_t position = next_position();
    appended_.push_back({std::move(invocation), std::move(refusal)});
    plan_time_.resume();
    request_start();
    return position;
}

uint32_t Execution::run(ToolInvocation invocation, std::optional<ToolRefusal> refusal) {
    // Earlier tools start first.
    if (closed_ || ended_ || starting_ || start_requested_) {
        return append(std::move(invocation), std::move(refusal));
    }
    const uint32_t position = next_position();
    notifying_ = true;
    plan_time_.resume();
    add({std::move(invocation), std::move(refusal)});
    schedule_ready();
    notifying_ = false;
    notify_settled();
    return position;
}

// Called from the loop, because the callers of append() may hold references to tools and results.
void Execution::take_appended() {
    std::vector<Appended> taken;
    taken.swap(appended_);
    for (Appended& each : taken) add(std::move(each));
    if (!schedule_.all_settled()) plan_time_.resume();
}

void Execution::add(Appended appended) {
    const auto tool = static_cast<uint32_t>(plan_->tools.size());
    plan_->append(std::move(appended.invocation));
    schedule_.grow();
    running_.emplace_back();
    held_.push_back(nullptr);
    add_result(tool);
    announce_until(tool + size_t{1});
    if (!appended.refusal) return;
    settle(tool, State::Failed, std::move(appended.refusal->code),
           std::move(appended.refusal->message));
}

std::optional<Answer> Execution::call(const tool::Resolution& tool, std::string_view tool_path,
                                      const CallAtOnce& call) {
    // With a sandbox the attempt must refuse the tool, because it runs inside the host.
    if (!with_.sandbox.empty() || !settings_.is_open || closed_ || ended_ || next_position() > 0) {
        return std::nullopt;
    }
    const auto answer = at_once_.call(tool, tool_path, call);
    if (answer && !failed_skills_.empty()) std::erase(failed_skills_, skill_of(tool_path));
    return answer;
}

void Execution::cancel(uint32_t tool) {
    with_.loop.defer([this, tool, batch = batch_, alive = alive_] {
        if (!*alive || ended_ || batch != batch_) return;
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

// The callback may append, stop or close.
void Execution::notify_settled() {
    const std::shared_ptr<bool> alive = alive_;
    while (*alive && !settled_.empty()) {
        const uint32_t tool = settled_.front();
        settled_.pop_front();
        settings_.on_tool_settled(tool, results_[tool]);
    }
    if (*alive && next_position() > 0 && appended_.empty() && schedule_.all_settled()) end_batch();
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
    // `alive` guards against a deferred task that outlives this execution.
    with_.loop.defer([this, alive = alive_] {
        if (!*alive) return;
        start_requested_ = false;
        if (!ended_) take_appended();
        schedule_ready();
    });
}

// Polls with a timer: the end of any process of the host may free descriptors, without
// notification.
void Execution::wait_for_descriptors(uint32_t tool) {
    if (!descriptor_wait_since_ms_) {
        descriptor_wait_since_ms_ = clock::steady_ms();
        warn_and_log("DESCRIPTORS_SHORT",
                     "tool " + named(plan_->tools[tool].tool_id) +
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

void Execution::warn_and_log(std::string_view code, const std::string& message) {
    with_.stream.warn({plan_->request_id, {}, 0}, code, message);
    if (settings_.log) {
        settings_.log(NAR_LOG_WARN, "plan " + named(plan_->request_id) + ": " + message);
    }
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
    const tool::project::Binding* const binding =
        resolution.definition ? resolution.definition->binding.get() : nullptr;
    std::string request;
    if (resolution.error.empty() || binding != nullptr) {
        request = request_of(*plan_, tool, results_);
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

    if (running.starting != nullptr) report_start(start);
    running.attempt = std::move(attempt);
    if (!running.attempt) {
        tool::Outcome outcome;
        // A failed start is handled like a failed attempt, including retries.
        outcome.code = failure.code;
        outcome.error = failure.message;
        outcome.no_supervisor = failure.no_supervisor;
        outcome.may_retry = failure.may_retry;
        if (binding != nullptr) {
            outcome.traces = tool::refused_call_traces(*binding, guarantees, request, try_ms,
                                                       failure, resolution.forbidden);
        }
        on_attempt_ended(tool, std::move(outcome));
        return true;
    }
    running.try_ms = try_ms;
    running.attempt->deliver_early();
    if (running_[tool] == nullptr || running_[tool]->attempt == nullptr) return true;
    // A tool that acted during its start may already have sent `done`, or had a patch refused.
    if (try_ms > 0 && !running.done && !running.refusal) {
        running.try_timer.start(try_ms, [this, tool] { on_try_timeout(tool); });
    }
    return true;
}

// Publishes the start of an attempt, which cannot be undone afterwards.
void Execution::report_start(Start& start) {
    const uint32_t tool = start.tool;
    const Tool& entry = plan_->tools[tool];
    Running& running = start.running;
    running.starting = nullptr;
    const int64_t now_ms = clock::steady_ms();
    if (start.fresh) {
        running_[tool] = std::move(start.fresh);
        running.first_started_ms = now_ms;
        running.writer = with_.state.open_writer(schedule_.is_exclusive(tool));
        with_.stream.publish(event::Kind::ToolStarted, {plan_->request_id, entry.tool_id, 0},
                             [&] { return records::tool_started(entry); });
    } else {
        // A retry starts from the beginning: only the events and the list of attempts are kept.
        running.record = AttemptRecord();
        running.output.clear();
        results_[tool].result.clear();
        results_[tool].diagnostics.clear();
    }
    running.record.attempt = schedule_.attempt(tool);
    running.definition = std::move(start.definition);
    running.attempt_started_ms = now_ms;
    running.timed_out = running.done = false;
    running.refusal.reset();
    running.warned_request_id = running.warned_timestamp = false;
    running.record.first_event = results_[tool].events.count();
    running.record.started_us = clock::wall_us();
    with_.stream.publish(event::Kind::AttemptStarted, subject_of(tool),
                         [&] { return records::attempt_started(running.record.attempt); });
}

void Execution::on_event(uint32_t tool, const event::Event& event) {
    Running& running = *running_[tool];
    const uint64_t number = with_.stream.take_number();
    results_[tool].events.add(event.line);
    std::optional<state::Refusal> refusal;
    switch (event.type) {
        case event::Type::StatePatch: refusal = take_patch(tool, number, event); break;
        case event::Type::Done:
            // The tool has finished its work, so stop its timeout. The runner ends a tool that
            // lingers.
            running.done = true;
            running.try_timer.stop();
            break;
        default: break;
    }
    const event::Subject subject = subject_of(tool);
    with_.stream.publish_tool_event(number, subject, event);
    // Published after the event that caused them, so that the numbers stay in order.
    while (const std::string* conflict = conflicts_.take()) {
        with_.stream.publish(event::Kind::StateConflict, subject, *conflict);
    }

    if (refusal) refuse_patch(tool, std::move(*refusal));
    if (event.type == event::Type::Asset) {
        take_asset(tool, number, event);
    } else if (event.type == event::Type::UiEvent && settings_.on_ui_event) {
        settings_.on_ui_event(number, subject, event);
    }
    if (!running.warned_request_id) {
        const json::Value id = event.field(event::Field::RequestId);
        if (id && id.text() != plan_->request_id) {
            running.warned_request_id = true;
            with_.stream.warn(subject, "REQUEST_ID",
                              "the tool's requestId is " + named(id.text().substr(0, 80)) +
                                  ", but the invocation's is " + named(plan_->request_id));
        }
    }
    if (!running.warned_timestamp) {
        const json::Value time = event.field(event::Field::Timestamp);
        if (time && !clock::is_iso8601(time.text())) {
            running.warned_timestamp = true;
            with_.stream.warn(subject, "TIMESTAMP",
                              "the tool's timestamp " + named(time.text().substr(0, 80)) +
                                  " is not an ISO-8601 date and time");
        }
    }
}

std::optional<state::Refusal> Execution::take_patch(uint32_t tool, uint64_t number,
                                                    const event::Event& event) {
    Running& running = *running_[tool];
    const json::Value nulls = event.field(event::Field::Nulls);
    if (auto refusal = with_.state.refusal(event.field(event::Field::Patch), nulls)) return refusal;
    if (!running.origin) {
        running.origin = std::make_shared<state::HistoryOrigin>(state::HistoryOrigin{
            std::string(plan_->request_id), std::string(plan_->tools[tool].tool_id)});
        conflicts_.add_writer(running.writer, plan_->tools[tool].tool_id);
    }
    const state::Patch& patch = with_.state.apply(
        event.field(event::Field::Patch), running.writer,
        {number, with_.stream.time_us(), running.record.attempt, running.origin}, &conflicts_);
    running.output.merge(patch);
    if (nulls) running.output.merge(with_.state.apply_nulls(nulls, running.writer, &conflicts_));
    return {};
}

void Execution::refuse_patch(uint32_t tool, state::Refusal refusal) {
    Running& running = *running_[tool];
    with_.stream.warn(subject_of(tool), refusal.code, refusal.message);
    if (running.refusal) return;
    running.refusal = std::move(refusal);
    // Terminate it from the loop: the attempt is delivering this event and must not end now. The
    // try timer is free for this, because the attempt's timeout no longer matters.
    if (!running.done) {
        running.try_timer.start(0, [this, tool] { running_[tool]->attempt->terminate(); });
    }
}

void Execution::take_asset(uint32_t tool, uint64_t number, const event::Event& event) {
    asset::Asset asset;
    asset.plan_id = plan_->request_id;
    asset.tool_id = plan_->tools[tool].tool_id;
    asset.asset_id = event.text(event::Field::AssetId);
    asset.kind = event.text(event::Field::Kind);
    asset.media_type = event.text(event::Field::MediaType);
    asset.path = event.text(event::Field::Path);
    if (const json::Value metadata = event.field(event::Field::Metadata)) {
        asset.metadata = metadata.raw();
    }
    asset.execution = settings_.number;
    asset.seq = number;
    asset.attempt = running_[tool]->record.attempt;
    // Without an attempt the tool acts during its start, so it is not a process in a sandbox.
    const auto& attempt = running_[tool]->attempt;
    const auto refusal =
        with_.assets.add(std::move(asset), attempt ? attempt->readable() : nullptr);
    if (!refusal) return;
    with_.stream.publish(
        event::Kind::AssetRefused, subject_of(tool),
        records::asset_refused(event.text(event::Field::AssetId), refusal->code, refusal->message));
}

void Execution::on_try_timeout(uint32_t tool) {
    Running& running = *running_[tool];
    running.timed_out = true;
    // The end arrives in on_attempt_ended() as usual and is judged there.
    running.attempt->terminate();
}

// The only place that judges the end of an attempt: completed, retried, or failed.
void Execution::on_attempt_ended(uint32_t tool, tool::Outcome outcome) {
    Running& running = *running_[tool];
    running.try_timer.stop();
    // Move it out first: from here on stop() must not end or report this attempt.
    const std::unique_ptr<tool::Attempt> ended = std::move(running.attempt);

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
        if (settled_.empty() && !notifying_) {
            with_.loop.defer([this, alive = alive_] {
                if (*alive) notify_settled();
            });
        }
        settled_.push_back(tool);
    }
    for (const auto [skipped, lacking] : schedule_.settle(tool, state == State::Completed)) {
        const bool failed = results_[lacking].state != State::Skipped;
        ToolResult& its = results_[skipped];
        its.state = State::Skipped;
        its.error_code = failed ? "DEPENDENCY_FAILED" : "DEPENDENCY_SKIPPED";
        its.error = "the tool " + named(plan_->tools[lacking].tool_id) + ", on which it depends, " +
                    (failed ? "failed" : "was skipped");
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
    with_.loop.defer([this, alive = alive_] {
        // Deferred, because on_ended may destroy this execution while callers up the stack still
        // use it.
        if (*alive && !ended_ && is_complete()) finish();
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
                              ending.what + "; it was ended";
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
