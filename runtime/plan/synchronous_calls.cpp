// SPDX-License-Identifier: Apache-2.0
#include "plan/synchronous_calls.hpp"

#include <charconv>
#include <utility>

#include "base/clock.hpp"
#include "plan/execution.hpp"
#include "plan/records.hpp"
#include "plan/request.hpp"

namespace narratoria::plan {
namespace {

// The time for which the wall clock is extrapolated.
constexpr int64_t kWallUs = 1000;

}  // namespace

SynchronousCalls::Known& SynchronousCalls::known(const tool::Definition& tool,
                                                 std::string_view tool_path) {
    if (Known* const found = known_.find(&tool)) return *found;
    const std::string_view skill = skill_of(tool_path);
    Known made;
    made.request = start_of_call(plan_.request_id, skill);
    made.request_start = made.request.size();
    made.result.tool_id = std::string(skill) + "-";
    made.tool_id_start = made.result.tool_id.size();
    made.result.state = State::Completed;
    AttemptRecord& attempt = made.result.attempts.emplace_back();
    attempt.exit_status = 0;
    attempt.event_count = 1;
    made.limits = with_.limits;
    tool::apply(tool.limits, made.limits);
    return known_.add(&tool, std::move(made));
}

// Reads the wall clock once per millisecond, and extrapolates it for the other calls.
int64_t SynchronousCalls::wall_us(int64_t steady_us) {
    if (!read_steady_us_ || steady_us - *read_steady_us_ > kWallUs) {
        read_wall_us_ = clock::wall_us();
        read_steady_us_ = steady_us;
    }
    return read_wall_us_ + (steady_us - *read_steady_us_);
}

void SynchronousCalls::publish_pending(Known& known, std::string_view tool_path, uint32_t line) {
    if (known.line != line) {
        Tool tool;
        tool.tool_path = tool_path;
        tool.line = line;
        known.pending = records::tool_pending(tool);
        known.started = records::tool_started(tool);
        known.line = line;
    }
    with_.stream.publish(event::Kind::ToolPending, {plan_.request_id, known.result.tool_id, 0},
                         known.pending);
}

// Publishes the records in the same order as for a tool that reports everything during its start.
void SynchronousCalls::publish_rest(const Known& known) {
    static const std::string attempt_started = records::attempt_started(1);
    static const std::string attempt_ended = [] {
        AttemptRecord record;
        record.exit_status = 0;
        return records::attempt_ended(record);
    }();
    const int64_t execution_ms = known.result.execution_ms;
    if (ended_ms_ != execution_ms) {
        ended_ = records::tool_ended(known.result);
        ended_ms_ = execution_ms;
    }
    event::Stream& stream = with_.stream;
    const event::Subject tool{plan_.request_id, known.result.tool_id, 0};
    const event::Subject attempt{plan_.request_id, known.result.tool_id, 1};
    stream.publish(event::Kind::ToolStarted, tool, known.started);
    stream.publish(event::Kind::AttemptStarted, attempt, attempt_started);
    event::Event done;
    done.type = event::Type::Done;
    const std::string line = EndedTools::plain_done(known.result);
    done.line = line;
    stream.begin_batch(clock::wall_us());
    stream.publish_tool_event(stream.take_number(), attempt, done);
    stream.end_batch();
    stream.publish(event::Kind::AttemptEnded, attempt, attempt_ended);
    stream.publish(event::Kind::ToolEnded, tool, ended_);
}

std::optional<Answer> SynchronousCalls::call(const tool::Resolution& tool,
                                             std::string_view tool_path,
                                             const SynchronousCall& call) {
    Known& known = this->known(*tool.definition, tool_path);
    known.request.resize(known.request_start);
    end_call(known.request, call.input);
    ToolResult& result = known.result;
    char digits[16];
    const char* const end = std::to_chars(digits, digits + sizeof digits, call.number).ptr;
    result.tool_id.resize(known.tool_id_start);
    result.tool_id.append(digits, static_cast<size_t>(end - digits));
    result.line = call.line;

    // `call.now_us` is not used if sinks run first, because they take time.
    const bool is_observed = with_.stream.is_observed();
    if (is_observed) publish_pending(known, tool_path, call.line);
    tool::Invocation invocation;
    invocation.definition = tool.definition.get();
    invocation.tool_path = tool_path;
    invocation.plan_id = plan_.request_id;
    invocation.tool_id = result.tool_id;
    invocation.folder = settings_.folder;
    invocation.try_ms = tool.definition->try_ms.value_or(settings_.try_ms);
    invocation.request = known.request;
    invocation.limits = known.limits;
    invocation.environment = &with_.environment;
    const int64_t started_us = call.now_us && !is_observed ? *call.now_us : clock::steady_us();
    const std::optional<json::Value> answer = tool.runner->call(invocation);
    if (!answer) {
        if (is_observed) announced_ = result.tool_id;
        return std::nullopt;
    }
    int64_t ended_us = clock::steady_us();
    AttemptRecord& attempt = result.attempts.front();
    attempt.started_us = wall_us(started_us);
    attempt.execution_ms = result.execution_ms = ended_us / 1000 - started_us / 1000;
    // null means that the tool returned no result.
    result.result = answer->is_null() ? std::string_view() : answer->raw();
    result_.ended.add_plain(result, static_cast<uint32_t>(result_.tools.size()));
    if (with_.stream.is_observed()) {
        publish_rest(known);
        ended_us = clock::steady_us();
    }
    return Answer{*answer, ended_us};
}

}  // namespace narratoria::plan
