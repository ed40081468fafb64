// SPDX-License-Identifier: Apache-2.0
#include "plan/records.hpp"

#include "base/bytes/utf8.hpp"
#include "base/json/writer.hpp"

namespace narratoria::plan::records {
namespace {

// Bytes of a failed tool's standard error in a record; the result has more.
constexpr size_t kShownDiagnostics = 2000;

std::string pending(const Tool& tool, const std::vector<std::string>& dependencies) {
    std::string body;
    json::ObjectWriter writer(body);
    writer.string("toolPath", tool.tool_path);
    writer.key("dependencies");
    append_strings(body, dependencies);
    if (tool.line > 0) writer.number("line", tool.line);
    writer.end();
    return body;
}

}  // namespace

std::string plan_started(const Plan& plan, int64_t generation_attempt,
                         std::string_view parent_plan_id, bool is_open) {
    std::string body;
    json::ObjectWriter writer(body);
    writer.key("plan");
    json::append_compact(body, plan.text());
    writer.number("generationAttempt", generation_attempt);
    if (parent_plan_id.empty()) writer.raw("parentPlanId", "null");
    else writer.string("parentPlanId", parent_plan_id);
    if (is_open) writer.boolean("open", true);
    writer.end();
    return body;
}

std::string narrative(std::string_view text) {
    std::string body;
    json::ObjectWriter(body).string("text", text).string("source", "plan").end();
    return body;
}

std::string tool_pending(const Plan& plan, uint32_t tool) {
    std::vector<std::string> dependencies;
    for (const uint32_t dependency : plan.dependencies.of(tool)) {
        dependencies.emplace_back(plan.tools[dependency].tool_id);
    }
    return pending(plan.tools[tool], dependencies);
}

std::string tool_pending(const Tool& tool) { return pending(tool, {}); }

std::string tool_started(const Tool& tool) {
    std::string body;
    json::ObjectWriter writer(body);
    writer.string("toolPath", tool.tool_path);
    if (tool.line > 0) writer.number("line", tool.line);
    writer.end();
    return body;
}

std::string attempt_started(uint32_t attempt) {
    std::string body;
    json::ObjectWriter(body).number("attempt", attempt).end();
    return body;
}

std::string attempt_ended(const AttemptRecord& record) {
    std::string body;
    json::ObjectWriter writer(body);
    write_attempt_end(writer, record);
    write_traces(writer, record);
    writer.end();
    return body;
}

std::string tool_ended(const ToolResult& tool) {
    std::string body;
    json::ObjectWriter writer(body);
    writer.string("state", state_name(tool.state));
    writer.boolean("ok", tool.ok());
    writer.number("executionTime", tool.execution_ms);
    writer.number("retryCount", tool.retry_count());
    if (!tool.ok()) {
        writer.string("error", tool.error);
        writer.string("errorCode", tool.error_code);
        if (!tool.diagnostics.empty()) {
            writer.string("stderr", utf8::suffix_of(tool.diagnostics, kShownDiagnostics));
        }
    }
    writer.end();
    return body;
}

std::string asset_refused(std::string_view asset_id, std::string_view code,
                          std::string_view message) {
    std::string body;
    json::ObjectWriter(body)
        .string("assetId", asset_id)
        .string("code", code)
        .string("message", message)
        .end();
    return body;
}

std::string state_conflict(std::string_view path, std::string_view first_tool,
                           std::string_view second_tool) {
    std::string body;
    json::ObjectWriter writer(body);
    writer.string("path", path);
    writer.key("tools");
    body += '[';
    json::append_string(body, first_tool);
    body += ',';
    json::append_string(body, second_tool);
    body += ']';
    writer.end();
    return body;
}

std::string plan_ended(const Result& result) {
    std::string body;
    json::ObjectWriter writer(body);
    writer.boolean("success", result.success);
    writer.number("executionTime", result.execution_ms);
    writer.key("failedTools");
    append_strings(body, result.failed_tools);
    writer.boolean("canReplan", result.can_replan);
    writer.end();
    return body;
}

}  // namespace narratoria::plan::records
