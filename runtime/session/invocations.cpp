// SPDX-License-Identifier: Apache-2.0
#include "session/invocations.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/json/writer.hpp"
#include "base/uuid.hpp"
#include "session/plan_faults.hpp"

namespace narratoria::session {
namespace {

// Maximum of running and waiting tools of one request.
constexpr size_t kMaxRunning = 1000;

constexpr const char* kCancelled = "CANCELLED";

// `{skill}-{number}`; numbers count from 1.
std::string tool_id_of(std::string_view skill, uint32_t number) {
    std::string id(skill);
    id += '-';
    json::append_number(id, number);
    return id;
}

}  // namespace

std::string outcome_json(const plan::ToolResult& tool) {
    std::string out;
    json::ObjectWriter writer(out);
    writer.string("toolId", tool.tool_id);
    writer.string("state", plan::state_name(tool.state));
    writer.boolean("ok", tool.ok());
    writer.raw("result", tool.result.empty() ? std::string_view("null") : tool.result);
    writer.raw("output", tool.output);
    writer.number("executionTime", tool.execution_ms);
    writer.number("retryCount", tool.retry_count());
    if (!tool.ok()) writer.string("error", tool.error).string("errorCode", tool.error_code);
    writer.end();
    return out;
}

std::optional<plan::ToolRefusal> Invocations::refusal_of(std::string_view tool_id,
                                                         std::string_view tool_path) const {
    // The recording has the outcome, so do not check again.
    if (with_.recording != nullptr && with_.recording->has(tool_id)) return {};
    std::string problem = skill_problem(tool_path, with_.disabled_skills);
    if (!problem.empty()) return plan::ToolRefusal{"SKILL_DISABLED", std::move(problem)};
    problem = path_problem(tool_path, with_.resolver, with_.folder);
    if (!problem.empty()) return plan::ToolRefusal{"TOOL_REFUSED", std::move(problem)};
    return std::nullopt;
}

void Invocations::open() {
    auto plan = std::make_unique<plan::Plan>();
    std::string text;
    json::ObjectWriter(text)
        .string("requestId", make_uuid())
        .raw("parallel", "true")
        .raw("tools", "[]")
        .end();
    Faults none;
    plan->parse(text, none);
    plan::Settings settings;
    settings.is_open = true;
    settings.disabled_skills = with_.disabled_skills;
    settings.on_tool_settled = [this](uint32_t position, const plan::ToolResult& tool) {
        on_settled(position, tool);
    };
    execution_ =
        with_.open(std::move(plan), std::move(settings),
                   [this](std::shared_ptr<plan::Result> result) { result_ = std::move(result); });
}

nar_status Invocations::invoke(plan::ToolInvocation&& invocation, Start start, OnOutcome on_outcome,
                               uint64_t& number, std::string& why) {
    if (is_ending_) {
        why = "the request has ended";
        return NAR_GONE;
    }
    if (result_) {
        why = "the time of the invoked tools is used up (plan_ms of [times]); reply to the request";
        return NAR_GONE;
    }
    if (waiting_.size() >= kMaxRunning) {
        why = std::to_string(kMaxRunning) +
              " tools of the request have not ended; wait for an outcome";
        return NAR_BUSY;
    }
    if (!execution_) open();
    number = ++count_;
    std::optional<plan::ToolRefusal> refusal;
    if (const Checked* const known = checked(invocation)) {
        invocation.tool_id = tool_id_of(known->skill, count_);
    } else {
        invocation.tool_id = tool_id_of(plan::skill_of(invocation.tool_path), count_);
        refusal = refusal_of(invocation.tool_id, invocation.tool_path);
    }
    if (waiting_.empty()) with_.on_running(true);
    waiting_.push_back({execution_->next_position(), number, std::move(on_outcome)});
    if (start == Start::Now) execution_->run(std::move(invocation), std::move(refusal));
    else execution_->append(std::move(invocation), std::move(refusal));
    return NAR_OK;
}

const Invocations::Checked* Invocations::checked(const plan::ToolInvocation& invocation) {
    const tool::Registry::Shared& tool = invocation.checked_by;
    if (tool == nullptr || tool->origin.kind == tool::Origin::Kind::File ||
        tool->name != invocation.tool_path) {
        return nullptr;
    }
    const Checked* known = checked_.find(tool.get());
    if (known == nullptr) {
        const std::string_view skill = plan::skill_of(tool->name);
        const bool may_run = !refusal_of(tool_id_of(skill, count_), tool->name);
        known = &checked_.add(tool.get(), {tool, skill, may_run});
    }
    return known->may_run ? known : nullptr;
}

nar_status Invocations::cancel(uint64_t number) {
    for (const Waiting& each : waiting_) {
        if (each.number != number) continue;
        execution_->cancel(each.position);
        return NAR_OK;
    }
    return NAR_NOT_FOUND;
}

void Invocations::on_settled(uint32_t position, const plan::ToolResult& tool) {
    const auto found = std::lower_bound(
        waiting_.begin(), waiting_.end(), position,
        [](const Waiting& each, uint32_t wanted) { return each.position < wanted; });
    if (found == waiting_.end() || found->position != position) return;
    const Waiting settled = std::move(*found);
    waiting_.erase(found);
    if (is_ending_ && tool.error_code == kCancelled) ++abandoned_;
    // Report this before the outcome, because that callback may invoke the next tool.
    if (waiting_.empty()) with_.on_running(false);
    if (with_.on_settled) with_.on_settled(tool);
    (*settled.on_outcome)(settled.number, tool);
}

void Invocations::end(plan::Stop reason) {
    is_ending_ = true;
    if (execution_) execution_->stop(reason);
}

}  // namespace narratoria::session
