// SPDX-License-Identifier: Apache-2.0
#include "plan/known_tools.hpp"

#include <utility>

#include "base/clock.hpp"
#include "base/json/writer.hpp"
#include "plan/plan.hpp"
#include "plan/records.hpp"
#include "plan/request.hpp"

namespace narratoria::plan {
namespace {

// The time for which the wall clock is extrapolated.
constexpr int64_t kWallUs = 1000;

}  // namespace

KnownTool::KnownTool(tool::Resolution resolution, std::string_view plan_id,
                     std::string_view tool_path, const tool::Limits& limits, uint64_t seed)
    : resolution_(std::move(resolution)),
      plan_id_(plan_id),
      tool_path_(tool_path),
      limits_(limits),
      seed_(seed),
      request_(begin_request(plan_id, tool_path, "run")),
      request_start_(request_.size()),
      result_(nullptr) {
    tool::apply(resolution_.definition->limits, limits_);
    result_.state = State::Completed;
    AttemptRecord& attempt = result_.attempts.emplace_back();
    attempt.exit_status = 0;
    attempt.event_count = 1;
}

tool::Invocation KnownTool::begin(const ToolInvocation& invocation) {
    result_.tool_id = invocation.tool_id;
    result_.line = invocation.line;
    request_.resize(request_start_);
    request_ += invocation.input;
    end_request(request_, seed_of(seed_, result_.tool_id, 1));
    tool::Invocation given;
    given.definition = resolution_.definition.get();
    given.target = resolution_.target;
    given.tool_path = tool_path_;
    given.plan_id = plan_id_;
    given.tool_id = result_.tool_id;
    given.is_of_script = invocation.line > 0;
    given.is_checked = true;
    given.limits = limits_;
    given.request = request_;
    return given;
}

const ToolResult& KnownTool::succeed(json::Value result, int64_t started_us, int64_t execution_ms) {
    result_.result = result ? result.raw() : std::string_view();
    result_.parsed_result = result;
    AttemptRecord& attempt = result_.attempts.front();
    attempt.started_us = started_us;
    attempt.execution_ms = result_.execution_ms = execution_ms;
    return result_;
}

void KnownTool::publish_pending(event::Stream& stream) {
    if (line_ != result_.line) {
        Tool tool;
        tool.tool_path = tool_path_;
        tool.line = result_.line;
        pending_ = records::tool_pending(tool);
        started_ = records::tool_started(tool);
        line_ = result_.line;
    }
    stream.publish(event::Kind::ToolPending, {plan_id_, result_.tool_id, 0}, pending_);
}

void KnownTool::publish_ended(event::Stream& stream) {
    static const std::string attempt_started = records::attempt_started(1);
    static const std::string attempt_ended = [] {
        AttemptRecord record;
        record.exit_status = 0;
        return records::attempt_ended(record);
    }();
    if (execution_ms_ != result_.execution_ms) {
        ended_ = records::tool_ended(result_);
        execution_ms_ = result_.execution_ms;
    }
    const event::Subject tool{plan_id_, result_.tool_id, 0};
    const event::Subject attempt{plan_id_, result_.tool_id, 1};
    stream.publish(event::Kind::ToolStarted, tool, started_);
    stream.publish(event::Kind::AttemptStarted, attempt, attempt_started);
    event::Event done;
    done.type = event::Type::Done;
    EndedTools::write_plain_done(done_line_, result_);
    done.line = done_line_;
    stream.begin_batch(clock::wall_us());
    stream.publish_tool_event(stream.take_number(), attempt, done);
    stream.end_batch();
    stream.publish(event::Kind::AttemptEnded, attempt, attempt_ended);
    stream.publish(event::Kind::ToolEnded, tool, ended_);
}

KnownTool* KnownTools::find(const ToolInvocation& invocation) {
    const auto& checked_by = invocation.checked_by;
    // A file has a new definition each time.
    if (checked_by == nullptr || checked_by->origin.kind == tool::Origin::Kind::File ||
        invocation.environment != nullptr || invocation.try_ms || invocation.max_retries > 0 ||
        invocation.operation != "run") {
        return nullptr;
    }
    auto* known = tools_.find(checked_by.get());
    if (known == nullptr) {
        tool::Resolution resolution = resolver_.resolve(invocation.tool_path, folder_);
        const bool may_end = resolution.error.empty() && resolution.definition == checked_by &&
                             resolution.runner->may_end_within_start() &&
                             checked_by->path.empty() && checked_by->repeatable;
        known = &tools_.add(checked_by.get(), std::nullopt);
        if (may_end)
            known->emplace(std::move(resolution), plan_id_, invocation.tool_path, limits_, seed_);
        else others_.push_back(checked_by);
    }
    return *known ? &**known : nullptr;
}

int64_t KnownTools::wall_us(int64_t steady_us) {
    if (!read_steady_us_ || steady_us - *read_steady_us_ > kWallUs) {
        read_wall_us_ = clock::wall_us();
        read_steady_us_ = clock::steady_us();
    }
    return read_wall_us_ + (steady_us - *read_steady_us_);
}

}  // namespace narratoria::plan
