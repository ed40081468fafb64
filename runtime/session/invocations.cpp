// SPDX-License-Identifier: Apache-2.0
#include "session/invocations.hpp"

#include <optional>
#include <utility>

#include "base/json/tape.hpp"
#include "base/json/writer.hpp"
#include "base/uuid.hpp"
#include "session/plan_faults.hpp"

namespace narratoria::session {
namespace {

// Maximum of running and waiting tools of one request.
constexpr size_t kMaxRunning = 1000;

constexpr const char* kCancelled = "CANCELLED";

std::unique_ptr<plan::Plan> plan_of(std::string_view id, std::string_view tool, Faults& faults) {
    std::string text;
    json::ObjectWriter writer(text);
    writer.string("requestId", id).raw("parallel", "true").key("tools");
    text += '[';
    text += tool;
    text += ']';
    writer.end();
    auto plan = std::make_unique<plan::Plan>();
    plan->parse(text, faults);
    return plan;
}

// Describes the faults of a plan's only tool, with pointers into the invocation.
std::string describe(const Faults& faults) {
    constexpr std::string_view kTool = "/tools/0";
    std::string out;
    for (const Fault& fault : faults) {
        std::string_view pointer = fault.pointer;
        if (pointer.starts_with(kTool)) pointer.remove_prefix(kTool.size());
        if (!out.empty()) out += "; ";
        if (!pointer.empty()) (out += pointer) += ": ";
        out += fault.message;
    }
    return out;
}

std::string outcome_of(const plan::ToolResult& tool) {
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

}  // namespace

// Returns NULL and the reason if the invocation is not valid.
std::unique_ptr<plan::Plan> Invocations::read(std::string_view invocation, uint32_t position,
                                              std::string& why) const {
    json::Document document;
    json::ParseError error;
    if (!document.parse(invocation, error)) {
        why = "the invocation is not valid JSON: " + error.message;
        return nullptr;
    }
    if (!document.root().is_object()) {
        why = std::string("the invocation must be a JSON object, not ") +
              json::type_name(document.root().type());
        return nullptr;
    }
    const json::Value tool = document.root().find("tool");
    if (!tool || !tool.is_string() || tool.text().empty()) {
        why = "/tool: \"tool\" must name a tool, like toolPath in a plan";
        return nullptr;
    }
    uint32_t line = 0;
    if (const json::Value value = document.root().find("line")) {
        const std::optional<int64_t> number = value.integer();
        if (!number || *number < 1 || *number > UINT32_MAX) {
            why = "/line: \"line\" must be a whole number from 1";
            return nullptr;
        }
        line = static_cast<uint32_t>(*number);
    }
    std::string entry;
    json::ObjectWriter writer(entry);
    writer.string("toolId",
                  std::string(plan::skill_of(tool.text())) + "-" + std::to_string(position + 1));
    writer.string("toolPath", tool.text());
    for (const char* key : {"input", "retryPolicy", "timeoutMs", "environment"}) {
        if (const json::Value value = document.root().find(key)) writer.raw(key, value.raw());
    }
    // Not required: the narrator receives the failure and decides what it means.
    writer.boolean("required", false).boolean("async", true).end();
    Faults faults;
    auto plan = plan_of("invocation", entry, faults);
    if (!faults.empty()) {
        why = describe(faults);
        return nullptr;
    }
    // An invocation is one attempt; plans have the default of spec 003 §13.3.
    const json::Value policy = document.root().find("retryPolicy");
    if (!policy || !policy.find("maxRetries")) plan->tools[0].max_retries = 0;
    plan->tools[0].line = line;
    return plan;
}

std::optional<plan::ToolRefusal> Invocations::refusal_of(const plan::Plan& tool) const {
    // The recording has the outcome, so do not check again.
    if (with_.recording != nullptr && with_.recording->has(tool.tools[0].tool_id)) return {};
    Faults faults;
    add_skill_faults(tool, with_.disabled_skills, faults);
    if (!faults.empty()) return plan::ToolRefusal{"SKILL_DISABLED", faults.front().message};
    add_path_faults(tool, with_.resolver, with_.folder, faults);
    if (!faults.empty()) return plan::ToolRefusal{"TOOL_REFUSED", faults.front().message};
    return std::nullopt;
}

void Invocations::open() {
    Faults faults;
    plan::Settings settings;
    settings.is_open = true;
    settings.disabled_skills = with_.disabled_skills;
    settings.on_tool_settled = [this](uint32_t position, const plan::ToolResult& tool) {
        on_settled(position, tool);
    };
    execution_ =
        with_.open(plan_of(make_uuid(), "", faults), std::move(settings),
                   [this](std::shared_ptr<plan::Result> result) { result_ = std::move(result); });
}

nar_status Invocations::invoke(std::string_view invocation, OnOutcome on_outcome, uint64_t& number,
                               std::string& why) {
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
    auto tool = read(invocation, count_, why);
    if (!tool) return NAR_INVALID_DOCUMENT;
    if (!execution_) open();
    auto refusal = refusal_of(*tool);
    const uint32_t position = execution_->append(std::move(tool), std::move(refusal));
    ++count_;
    if (waiting_.empty()) with_.on_running(true);
    waiting_.emplace(position, std::move(on_outcome));
    number = uint64_t{position} + 1;
    return NAR_OK;
}

std::optional<plan::Answer> Invocations::call(const tool::Registry::Shared& tool,
                                              plan::CallAtOnce call) {
    if (is_ending_ || result_ || !waiting_.empty()) return std::nullopt;
    const tool::Resolution* known = checked_.find(tool.get());
    if (known == nullptr) {
        std::string invocation;
        json::ObjectWriter(invocation).string("tool", tool->name).end();
        std::string ignored;
        const auto plan = read(invocation, count_, ignored);
        tool::Resolution resolution;
        if (plan != nullptr && !refusal_of(*plan)) {
            resolution = with_.resolver.resolve(tool->name, with_.folder);
            if (resolution.definition != tool || resolution.runner == nullptr) resolution = {};
        }
        // Keep the definition alive: its address is the key of the cache.
        if (resolution.definition == nullptr) refused_.push_back(tool);
        known = &checked_.add(tool.get(), std::move(resolution));
    }
    if (known->definition == nullptr) return std::nullopt;
    if (!execution_) open();
    call.number = count_ + 1;
    const auto answer = execution_->call(*known, tool->name, call);
    if (answer) ++count_;
    return answer;
}

nar_status Invocations::cancel(uint64_t number) {
    const auto position = static_cast<uint32_t>(number - 1);
    if (number == 0 || number > count_ || !waiting_.contains(position)) return NAR_NOT_FOUND;
    execution_->cancel(position);
    return NAR_OK;
}

void Invocations::on_settled(uint32_t position, const plan::ToolResult& tool) {
    const auto node = waiting_.extract(position);
    if (node.empty()) return;
    if (is_ending_ && tool.error_code == kCancelled) ++abandoned_;
    // Report this before the outcome, because that callback may invoke the next tool.
    if (waiting_.empty()) with_.on_running(false);
    node.mapped()(uint64_t{position} + 1, outcome_of(tool));
}

void Invocations::end(plan::Stop reason) {
    is_ending_ = true;
    if (execution_) execution_->stop(reason);
}

}  // namespace narratoria::session
