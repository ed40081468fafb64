// SPDX-License-Identifier: Apache-2.0
#include "plan/execution.hpp"

#include <algorithm>
#include <unordered_set>

#include "base/clock.hpp"
#include "base/json/writer.hpp"

namespace narratoria::plan {
namespace {

// Of a tool that failed, what its end shows of its standard error; the result has more.
constexpr size_t kShownDiagnostics = 2000;

// The last bytes of valid UTF-8, from the beginning of a character on.
std::string_view end_of(std::string_view text, size_t most) {
    if (text.size() <= most) return text;
    text.remove_prefix(text.size() - most);
    while (!text.empty() && (static_cast<unsigned char>(text.front()) & 0xC0) == 0x80) {
        text.remove_prefix(1);
    }
    return text;
}

constexpr uint64_t kLongestBackoffMs = 30000;
constexpr uint64_t kShortagePauseMs = 20;
// Then those that run already get their turn: a thousand starts in a row would leave what they
// write unread for half a second.
constexpr uint32_t kStartsInARow = 8;
constexpr int64_t kMaxGenerations = 5;

std::string named(std::string_view text) {
    std::string out;
    json::append_string(out, text);
    return out;
}

}  // namespace

// A tool from its first start until it has settled: its present attempt, and what outlives one.
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
    std::shared_ptr<const tool::Definition> definition;  // of the attempt, which it outlives
    std::unique_ptr<tool::Attempt> attempt;
    AttemptRecord record;
    state::Tree output;
    std::shared_ptr<const state::HistoryOrigin> origin;  // of its patches; from the first one on
    state::Writer writer = state::kHost;                 // its own, once it has started
    Timer try_timer;
    Timer backoff_timer;
    int64_t first_started_ms = 0;
    int64_t attempt_started_ms = 0;
    bool timed_out = false;
    bool done = false;
    bool warned_request_id = false;
    bool warned_timestamp = false;
};

Execution::Execution(ExecutionContext context, std::unique_ptr<Plan> plan, Settings settings,
                     std::function<void(std::shared_ptr<Result>)> on_ended)
    : with_(context),
      plan_(std::move(plan)),
      settings_(std::move(settings)),
      on_ended_(std::move(on_ended)),
      result_(std::make_shared<Result>()),
      plan_timer_(with_.loop),
      shortage_timer_(with_.loop),
      conflicts_(*plan_, result_->conflicts) {}

Execution::~Execution() {
    *alive_ = false;
    with_.slots.stop_waiting(this);
    // Slots of tools that still run are given back: the engine outlives a session.
    for (; running_ > 0; --running_) with_.slots.give_back();
}

event::Subject Execution::subject_of(uint32_t tool) const {
    const auto& running = items_[tool].running;
    return {plan_->request_id, plan_->tools[tool].tool_id, running ? running->record.attempt : 0};
}

void Execution::start() {
    started_ms_ = clock::steady_ms();
    const auto count = static_cast<uint32_t>(plan_->tools.size());
    result_->plan_id = plan_->request_id;
    result_->narrative = plan_->narrative;
    result_->generation_attempt = settings_.generation_attempt;
    result_->spool = std::make_shared<EventSpool>();
    result_->tools.reserve(count);
    items_.resize(count);

    std::string body;
    if (with_.stream.wanted(event::Kind::PlanStarted)) {
        json::ObjectWriter writer(body);
        writer.key("plan");
        json::append_compact(body, plan_->text());
        writer.number("generationAttempt", settings_.generation_attempt);
        if (settings_.parent_plan_id.empty()) writer.raw("parentPlanId", "null");
        else writer.string("parentPlanId", settings_.parent_plan_id);
        writer.end();
    }
    with_.stream.publish(event::Kind::PlanStarted, {plan_->request_id, {}, 0}, body);
    if (!plan_->narrative.empty()) {
        body.clear();
        json::ObjectWriter(body).string("text", plan_->narrative).string("source", "plan").end();
        with_.stream.publish(event::Kind::Narrative, {plan_->request_id, {}, 0}, body);
    }

    for (uint32_t i = 0; i < count; ++i) {
        const Tool& tool = plan_->tools[i];
        result_->tools.emplace_back(result_->spool);
        result_->tools.back().tool_id = tool.tool_id;
        items_[i].open_dependencies = static_cast<uint32_t>(plan_->dependencies.of(i).size());
        if (items_[i].open_dependencies == 0) {
            items_[i].phase = Phase::Ready;
            ready_.push(i);
        }
        body.clear();
        if (with_.stream.wanted(event::Kind::ToolPending)) {
            json::ObjectWriter writer(body);
            writer.string("toolPath", tool.tool_path);
            writer.key("dependencies");
            body += '[';
            bool first = true;
            for (const uint32_t dependency : plan_->dependencies.of(i)) {
                if (!first) body += ',';
                first = false;
                json::append_string(body, plan_->tools[dependency].tool_id);
            }
            body += ']';
            writer.end();
        }
        with_.stream.publish(event::Kind::ToolPending, subject_of(i), body);
    }

    if (settings_.plan_ms > 0) {
        plan_timer_.start(settings_.plan_ms, [this] { stop(Stop::PlanTimeout); });
    }
    if (count == 0) finish_soon();
    else request_start();
}

void Execution::request_start() {
    if (start_requested_) return;
    start_requested_ = true;
    with_.loop.defer([this, alive = alive_] {
        if (!*alive) return;
        start_requested_ = false;
        schedule_ready();
    });
}

// Descriptors are free again when something ends, here or elsewhere in the host.
void Execution::wait_for_descriptors() {
    if (!shortage_timer_.running()) {
        shortage_timer_.start(kShortagePauseMs, [this] { request_start(); });
    }
}

bool Execution::may_overlap(uint32_t tool) const {
    return plan_->parallel && plan_->tools[tool].async;
}

bool Execution::may_start(uint32_t tool) const {
    if (alone_) return false;
    return may_overlap(tool) || in_flight_ == 0;
}

void Execution::schedule_ready() {
    if (starting_ || start_requested_ || ended_) return;
    starting_ = true;
    // Also when memory runs out in the middle, the next one can start.
    struct Ended {
        bool& starting;
        ~Ended() { starting = false; }
    } const ended{starting_};
    // A start that fails at once settles its tool, which may make others ready: the loop sees them.
    for (uint32_t starts = 0;; ++starts) {
        const bool is_retry = !retries_.empty();
        if (!is_retry && (ready_.empty() || !may_start(ready_.top()))) break;
        if (starts == kStartsInARow || with_.loop.time_is_up()) {
            request_start();
            break;
        }
        if (!with_.slots.take(this)) {
            with_.slots.wait(this, JobSlots::WaitReason::Slot, [this] { request_start(); });
            break;
        }
        ++running_;
        uint32_t tool;
        if (is_retry) {
            tool = retries_.front();
            retries_.pop();
        } else {
            tool = ready_.top();
            ready_.pop();
            ++in_flight_;
            alone_ = !may_overlap(tool);
        }
        if (start_attempt(tool)) continue;
        // No descriptors: as if it had not been tried.
        if (is_retry) {
            retries_.push(tool);
        } else {
            ready_.push(tool);
            --in_flight_;
            alone_ = false;
        }
        --running_;
        with_.slots.give_back_unused();
        with_.slots.wait(this, JobSlots::WaitReason::Descriptors, [this] { request_start(); });
        wait_for_descriptors();
        break;
    }
}

std::vector<std::string> Execution::environment_of(uint32_t tool) const {
    std::vector<std::string> variables = with_.environment;
    for (const json::Member member : plan_->tools[tool].environment.members()) {
        const std::string start = std::string(member.key) + "=";
        std::erase_if(variables, [&](const std::string& variable) {
            return variable.compare(0, start.size(), start) == 0;
        });
        variables.push_back(start + std::string(member.value.text()));
    }
    return variables;
}

// The document that a tool finds on its standard input (spec 000 §6).
std::string Execution::request_of(uint32_t tool) const {
    const Tool& entry = plan_->tools[tool];
    std::string out;
    json::ObjectWriter request(out);
    request.string("requestId", plan_->request_id);
    request.string("tool", skill_of(entry.tool_path));
    const json::Value operation = entry.input ? entry.input.find("operation") : json::Value();
    request.string("operation",
                   operation && operation.is_string() ? operation.text() : std::string_view("run"));
    request.key("input");
    if (entry.input) json::append_compact(out, entry.input.raw());
    else out += "{}";
    request.key("dependencies");
    json::ObjectWriter outputs(out);
    for (const uint32_t dependency : plan_->dependencies.of(tool)) {
        const ToolResult& result = result_->tools[dependency];
        outputs.raw(result.tool_id, result.ok() ? std::string_view(result.output) : "null");
    }
    outputs.end();
    request.key("results");
    json::ObjectWriter results(out);
    for (const uint32_t dependency : plan_->dependencies.of(tool)) {
        const ToolResult& result = result_->tools[dependency];
        if (result.ok() && !result.result.empty()) results.raw(result.tool_id, result.result);
    }
    results.end();
    request.end();
    out += '\n';
    return out;
}

bool Execution::start_attempt(uint32_t tool) {
    Item& item = items_[tool];
    const Tool& entry = plan_->tools[tool];
    const bool first = item.running == nullptr;
    auto fresh = first ? std::make_unique<Running>(*this, tool) : nullptr;
    Running& running = first ? *fresh : *item.running;

    const tool::Resolution resolution = with_.resolver.resolve(entry.tool_path, settings_.folder);
    tool::StartFailure failure;
    failure.message = resolution.error;
    std::unique_ptr<tool::Attempt> attempt;
    if (resolution.error.empty()) {
        std::vector<std::string> environment;
        const bool has_own = entry.environment && !entry.environment.empty();
        if (has_own) environment = environment_of(tool);
        const std::string request = request_of(tool);
        tool::Invocation invocation;
        invocation.definition = resolution.definition.get();
        invocation.target = resolution.target;
        invocation.tool_path = entry.tool_path;
        invocation.plan_id = plan_->request_id;
        invocation.tool_id = entry.tool_id;
        invocation.folder = settings_.folder;
        invocation.attempt = first ? 1 : running.record.attempt + 1;
        invocation.try_ms = entry.try_ms.value_or(settings_.try_ms);
        invocation.limits = with_.limits;
        tool::apply(resolution.definition->limits, invocation.limits);
        invocation.request = request;
        invocation.environment = has_own ? &environment : &with_.environment;
        attempt = resolution.runner->start(invocation, running, failure);
        if (!attempt && failure.shortage) return false;
    }

    const int64_t now_ms = clock::steady_ms();
    if (first) {
        item.running = std::move(fresh);
        running.first_started_ms = now_ms;
        running.writer = with_.state.open_writer(!may_overlap(tool));
        conflicts_.add_writer(running.writer, tool);
        running.record.attempt = 1;
        std::string body;
        json::ObjectWriter(body).string("toolPath", entry.tool_path).end();
        with_.stream.publish(event::Kind::ToolStarted, {plan_->request_id, entry.tool_id, 0}, body);
    } else {
        const uint32_t next = running.record.attempt + 1;
        running.record = AttemptRecord();
        running.record.attempt = next;
        running.output.clear();
        result_->tools[tool].result.clear();
        result_->tools[tool].diagnostics.clear();
    }
    item.phase = Phase::Running;
    running.attempt = std::move(attempt);
    running.definition = resolution.definition;
    running.attempt_started_ms = now_ms;
    running.timed_out = running.done = false;
    running.warned_request_id = running.warned_timestamp = false;
    running.record.first_event = result_->tools[tool].events.count();
    running.record.started_us = clock::wall_us();
    std::string body;
    json::ObjectWriter(body).number("attempt", running.record.attempt).end();
    with_.stream.publish(event::Kind::AttemptStarted, subject_of(tool), body);

    if (!running.attempt) {
        tool::Outcome outcome;
        outcome.code = failure.code;
        outcome.error = failure.message;
        on_attempt_ended(tool, std::move(outcome));
        return true;
    }
    const uint32_t try_ms = entry.try_ms.value_or(settings_.try_ms);
    if (try_ms > 0) running.try_timer.start(try_ms, [this, tool] { on_try_timeout(tool); });
    return true;
}

void Execution::on_event(uint32_t tool, const event::Event& event) {
    Running& running = *items_[tool].running;
    const uint64_t number = with_.stream.take_number();
    result_->tools[tool].events.add(event.line);
    switch (event.type) {
        case event::Type::StatePatch: take_patch(tool, number, event); break;
        case event::Type::Done:
            // Its time is over, one way or the other; lingering is the runner's to end.
            running.done = true;
            running.try_timer.stop();
            break;
        default: break;
    }
    const event::Subject subject = subject_of(tool);
    with_.stream.publish_tool_event(number, subject, event);
    // Behind the event that caused them, so that the numbers stay in order.
    while (const std::string* conflict = conflicts_.take()) {
        with_.stream.publish(event::Kind::StateConflict, subject, *conflict);
    }

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
                                  ", the invocation's is " + named(plan_->request_id));
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

void Execution::take_patch(uint32_t tool, uint64_t number, const event::Event& event) {
    Running& running = *items_[tool].running;
    if (!running.origin) {
        running.origin = std::make_shared<state::HistoryOrigin>(state::HistoryOrigin{
            std::string(plan_->request_id), std::string(plan_->tools[tool].tool_id)});
    }
    const state::Patch& patch = with_.state.apply(
        event.field(event::Field::Patch), running.writer,
        {number, with_.stream.time_us(), running.record.attempt, running.origin}, &conflicts_);
    running.output.merge(patch);
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
    asset.attempt = items_[tool].running->record.attempt;
    const auto refusal = with_.assets.add(std::move(asset));
    if (!refusal) return;
    std::string body;
    json::ObjectWriter(body)
        .string("assetId", event.text(event::Field::AssetId))
        .string("code", refusal->code)
        .string("message", refusal->message)
        .end();
    with_.stream.publish(event::Kind::AssetRefused, subject_of(tool), body);
}

void Execution::on_try_timeout(uint32_t tool) {
    Running& running = *items_[tool].running;
    running.timed_out = true;
    // Its end comes as any other, and is taken for what it is.
    running.attempt->terminate();
}

// The one place where the end of an attempt is judged: completed, tried again, or failed.
void Execution::on_attempt_ended(uint32_t tool, tool::Outcome outcome) {
    Item& item = items_[tool];
    Running& running = *item.running;
    const Tool& entry = plan_->tools[tool];
    ToolResult& result = result_->tools[tool];
    running.try_timer.stop();
    const std::unique_ptr<tool::Attempt> ended = std::move(running.attempt);

    State state = outcome.ok ? State::Completed : State::Failed;
    if (running.timed_out) {
        const uint32_t try_ms = entry.try_ms.value_or(settings_.try_ms);
        state = State::Timeout;
        outcome.ok = false;
        outcome.code = "TIMEOUT";
        outcome.error = "the tool did not end within " + std::to_string(try_ms) + " ms";
        if (!outcome.limit.empty()) outcome.error += "; " + outcome.limit;
    }
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
    result.diagnostics = std::move(outcome.diagnostics);
    result.result = std::move(outcome.result);

    const event::Subject subject = subject_of(tool);
    if (!outcome.warning.empty()) {
        with_.stream.warn(subject, outcome.warning_code, outcome.warning);
    }
    if (outcome.lines_after_done > 0) {
        with_.stream.warn(subject, "AFTER_DONE",
                          std::to_string(outcome.lines_after_done) +
                              " lines came after the done event and were not accepted");
    }
    std::string body;
    json::ObjectWriter writer(body);
    writer.number("attempt", record.attempt);
    writer.string("state", state_name(state));
    if (!record.code.empty()) writer.string("code", record.code);
    if (!record.error.empty()) writer.string("error", record.error);
    if (record.signal != 0) writer.number("signal", record.signal);
    else if (record.exit_status >= 0) writer.number("exitStatus", record.exit_status);
    writer.end();
    with_.stream.publish(event::Kind::AttemptEnded, subject, body);
    result.attempts.push_back(record);

    --running_;
    const bool tries_again = !outcome.ok && record.attempt <= entry.max_retries;
    if (tries_again) {
        item.phase = Phase::BackingOff;
        const uint64_t doubled = uint64_t{entry.backoff_ms} << std::min(record.attempt - 1, 20u);
        running.backoff_timer.start(std::min(doubled, kLongestBackoffMs), [this, tool] {
            items_[tool].phase = Phase::Ready;
            retries_.push(tool);
            schedule_ready();
        });
    } else {
        settle(tool, state, std::move(outcome.code), std::move(outcome.error));
    }
    if (with_.slots.give_back()) request_start();
    else schedule_ready();
}

// A tool has come to its end; what follows for those that depend on it.
void Execution::settle(uint32_t tool, State state, std::string code, std::string error) {
    Item& item = items_[tool];
    ToolResult& result = result_->tools[tool];
    result.state = state;
    if (item.running) {
        result.execution_ms = clock::steady_ms() - item.running->first_started_ms;
        result.output.clear();
        item.running->output.append_json(result.output);
        --in_flight_;
        alone_ = false;
    }
    if (state != State::Completed) {
        result.error_code = std::move(code);
        result.error = std::move(error);
    }
    item.phase = Phase::Settled;
    ++settled_;
    result.events.settle();

    std::string body;
    json::ObjectWriter writer(body);
    writer.string("state", state_name(state));
    writer.boolean("ok", result.ok());
    writer.number("executionTime", result.execution_ms);
    writer.number("retryCount", result.retry_count());
    if (!result.ok()) {
        writer.string("error", result.error);
        writer.string("errorCode", result.error_code);
        if (!result.diagnostics.empty()) {
            writer.string("stderr", end_of(result.diagnostics, kShownDiagnostics));
        }
    }
    writer.end();
    const event::Subject subject{plan_->request_id, plan_->tools[tool].tool_id, 0};
    with_.stream.publish(event::Kind::ToolEnded, subject, body);
    item.running.reset();
    if (ended_) return;

    if (state == State::Completed || !plan_->tools[tool].required) {
        for (const uint32_t dependent : plan_->dependents.of(tool)) {
            Item& other = items_[dependent];
            if (other.phase == Phase::Waiting && --other.open_dependencies == 0) {
                other.phase = Phase::Ready;
                ready_.push(dependent);
            }
        }
    } else {
        skip_dependents(tool);
    }
    if (settled_ == items_.size()) finish_soon();
}

// Direct and indirect ones, each with the name of the dependency that it lacks.
void Execution::skip_dependents(uint32_t tool) {
    std::vector<uint32_t> open{tool};
    while (!open.empty()) {
        const uint32_t lacking = open.back();
        open.pop_back();
        const bool failed = result_->tools[lacking].state != State::Skipped;
        for (const uint32_t dependent : plan_->dependents.of(lacking)) {
            Item& item = items_[dependent];
            if (item.phase != Phase::Waiting) continue;
            item.phase = Phase::Settled;
            ++settled_;
            ToolResult& result = result_->tools[dependent];
            result.state = State::Skipped;
            result.error_code = failed ? "DEPENDENCY_FAILED" : "DEPENDENCY_SKIPPED";
            result.error = "skipped: the tool " + named(plan_->tools[lacking].tool_id) +
                           ", on which it depends, " + (failed ? "failed" : "was skipped");
            std::string body;
            json::ObjectWriter(body)
                .string("state", "skipped")
                .boolean("ok", false)
                .number("executionTime", 0)
                .number("retryCount", 0)
                .string("error", result.error)
                .string("errorCode", result.error_code)
                .end();
            with_.stream.publish(event::Kind::ToolEnded, subject_of(dependent), body);
            open.push_back(dependent);
        }
    }
}

void Execution::finish_soon() {
    with_.loop.defer([this, alive = alive_] {
        if (*alive && !ended_) finish();
    });
}

void Execution::stop(Stop reason) {
    if (ended_) return;
    ended_ = true;
    const bool cancelled = reason == Stop::Cancelled;
    result_->cancelled = cancelled;
    result_->timed_out = !cancelled;
    const char* code = cancelled                     ? "CANCELLED"
                       : reason == Stop::PlanTimeout ? "PLAN_TIMEOUT"
                                                     : "PROMPT_TIMEOUT";
    const std::string what =
        cancelled ? "the plan was cancelled"
        : reason == Stop::PlanTimeout
            ? "the plan's time of " + std::to_string(settings_.plan_ms) + " ms was up"
            : "the prompt's time was up";
    for (uint32_t i = 0; i < items_.size(); ++i) {
        Item& item = items_[i];
        if (item.phase == Phase::Settled) continue;
        if (!item.running) {
            settle(i, State::Skipped, code, "skipped: " + what);
            continue;
        }
        Running& running = *item.running;
        const State state = cancelled ? State::Failed : State::Timeout;
        if (running.attempt) {
            AttemptRecord& record = running.record;
            record.state = state;
            record.code = code;
            record.error = what;
            record.execution_ms = clock::steady_ms() - running.attempt_started_ms;
            record.event_count = result_->tools[i].events.count() - record.first_event;
            std::string body;
            json::ObjectWriter(body)
                .number("attempt", record.attempt)
                .string("state", state_name(state))
                .string("code", code)
                .string("error", what)
                .end();
            with_.stream.publish(event::Kind::AttemptEnded, subject_of(i), body);
            result_->tools[i].attempts.push_back(record);
            result_->tools[i].diagnostics = running.attempt->diagnostics();
            --running_;
            with_.slots.give_back();
        }
        // Its processes are ended behind our back.
        settle(i, state, code, what);
    }
    finish();
}

void Execution::finish() {
    ended_ = true;
    plan_timer_.stop();
    shortage_timer_.stop();
    with_.slots.stop_waiting(this);
    if (settings_.on_tools_ended) settings_.on_tools_ended();

    Result& result = *result_;
    result.execution_ms = clock::steady_ms() - started_ms_;
    result.success = !result.cancelled && !result.timed_out;
    result.disabled_skills = settings_.disabled_skills;
    std::unordered_set<std::string> disabled(result.disabled_skills.begin(),
                                             result.disabled_skills.end());
    for (uint32_t i = 0; i < items_.size(); ++i) {
        const ToolResult& tool = result.tools[i];
        if (plan_->tools[i].required && !tool.ok() && tool.state != State::Skipped) {
            result.success = false;
        }
        if (tool.state != State::Failed && tool.state != State::Timeout) continue;
        result.failed_tools.push_back(tool.tool_id);
        const std::string skill(skill_of(plan_->tools[i].tool_path));
        if (disabled.insert(skill).second) result.disabled_skills.push_back(skill);
    }
    result.can_replan =
        !result.success && !result.cancelled && settings_.generation_attempt < kMaxGenerations;
    std::string body;
    json::ObjectWriter writer(body);
    writer.boolean("success", result.success);
    writer.number("executionTime", result.execution_ms);
    writer.key("failedTools");
    append_strings(body, result.failed_tools);
    writer.boolean("canReplan", result.can_replan);
    writer.end();
    with_.stream.publish(event::Kind::PlanEnded, {plan_->request_id, {}, 0}, body);
    const auto on_ended = std::move(on_ended_);
    on_ended(result_);
    // `this` may be gone.
}

}  // namespace narratoria::plan
