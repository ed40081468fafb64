// SPDX-License-Identifier: Apache-2.0
#include "plan/result.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "base/json/writer.hpp"

namespace narratoria::plan {

const char* state_name(State state) {
    switch (state) {
        case State::Completed: return "completed";
        case State::Failed: return "failed";
        case State::Skipped: return "skipped";
        case State::Timeout: return "timeout";
    }
    return "failed";
}

void append_strings(std::string& out, const std::vector<std::string>& texts) {
    out += '[';
    for (size_t i = 0; i < texts.size(); ++i) {
        if (i > 0) out += ',';
        json::append_string(out, texts[i]);
    }
    out += ']';
}

void write_attempt_end(json::ObjectWriter& writer, const AttemptRecord& record) {
    writer.number("attempt", record.attempt);
    writer.string("state", state_name(record.state));
    if (!record.code.empty()) writer.string("code", record.code);
    if (!record.error.empty()) writer.string("error", record.error);
    if (record.signal != 0) writer.number("signal", record.signal);
    else if (record.exit_status >= 0) writer.number("exitStatus", record.exit_status);
}

void write_traces(json::ObjectWriter& writer, const AttemptRecord& record) {
    if (record.traces.empty()) return;
    std::string list = "[";
    for (const std::string& each : record.traces) {
        if (list.size() > 1) list += ',';
        list += each;
    }
    writer.raw("traces", list + "]");
}

namespace {

void append_attempt(std::string& out, const AttemptRecord& record, bool with_events) {
    json::ObjectWriter attempt(out);
    write_attempt_end(attempt, record);
    attempt.string("startedAt", clock::to_iso8601(record.started_us));
    attempt.number("executionTime", record.execution_ms);
    attempt.key("events");
    json::ObjectWriter(out)
        .number("first", static_cast<int64_t>(with_events ? record.first_event : 0))
        .number("count", static_cast<int64_t>(with_events ? record.event_count : 0))
        .end();
    if (record.lines_after_done > 0) {
        attempt.number("linesAfterDone", static_cast<int64_t>(record.lines_after_done));
    }
    attempt.key("resources");
    json::ObjectWriter(out)
        .number("userMicroseconds", static_cast<int64_t>(record.user_us))
        .number("systemMicroseconds", static_cast<int64_t>(record.system_us))
        .number("maximumResidentKiB", static_cast<int64_t>(record.resident_kb))
        .end();
    if (!record.guarantees.empty()) attempt.raw("guarantees", record.guarantees);
    if (!record.details.empty()) attempt.raw("details", record.details);
    write_traces(attempt, record);
    attempt.end();
}

// Appends a tool's result to `out`, and flushes `out` when it is large. False if the output
// stopped.
bool append_tool(std::string& out, Output& output, const ToolResult& tool, bool with_events) {
    if (out.empty() || out.back() != '[') out += ',';
    json::ObjectWriter writer(out);
    writer.string("toolId", tool.tool_id);
    writer.boolean("ok", tool.ok());
    writer.string("state", state_name(tool.state));
    writer.raw("output", tool.output);
    writer.number("executionTime", tool.execution_ms);
    writer.number("retryCount", tool.retry_count());
    if (!tool.ok()) {
        writer.string("error", tool.error);
        writer.string("errorCode", tool.error_code);
    }
    writer.key("events");
    out += '[';
    if (with_events && tool.events.count() > 0) {
        if (!output.write(out)) return false;
        out.clear();
        if (!tool.events.write(output)) return false;
    }
    out += ']';
    writer.key("attempts");
    out += '[';
    for (size_t i = 0; i < tool.attempts.size(); ++i) {
        if (i > 0) out += ',';
        append_attempt(out, tool.attempts[i], with_events);
    }
    out += ']';
    if (!tool.result.empty()) writer.raw("result", tool.result);
    if (!tool.summary.empty()) writer.string("summary", tool.summary);
    if (tool.line > 0) writer.number("line", tool.line);
    if (!tool.diagnostics.empty()) writer.string("stderr", tool.diagnostics);
    writer.end();
    if (out.size() < 256 * 1024) return true;
    const bool goes_on = output.write(out);
    out.clear();
    return goes_on;
}

// Passes `tools` and `ended` in their common order to `append`, which returns false to stop.
template <typename Append>
bool in_order(const std::vector<ToolResult>& tools, const EndedTools& ended, Append&& append) {
    size_t next = 0;
    EndedTools::Reader reader(ended);
    ToolResult tool(std::make_shared<EventSpool>());
    uint32_t before = 0;
    while (reader.next(tool, before)) {
        for (; next < before; ++next) {
            if (!append(tools[next])) return false;
        }
        if (!append(tool)) return false;
    }
    if (reader.has_failed()) return false;
    return std::all_of(tools.begin() + static_cast<ptrdiff_t>(next), tools.end(), append);
}

}  // namespace

void Result::add_ended(ToolResult&& tool) {
    const auto before = static_cast<uint32_t>(tools.size());
    if (const auto events = tool.events.if_few()) {
        ended.add(tool, *events, before);
        tool.events.drop();
    } else {
        tools.push_back(std::move(tool));
    }
}

bool Result::write(Output& output, bool with_events) const {
    std::string out;
    json::ObjectWriter result(out);
    result.string("planId", plan_id);
    result.boolean("success", success);
    result.string("narrative", narrative);
    result.number("executionTime", execution_ms);
    if (descriptor_wait_ms > 0) result.number("descriptorWaitTime", descriptor_wait_ms);
    result.key("toolResults");
    out += '[';
    const auto append = [&](const ToolResult& tool) {
        return append_tool(out, output, tool, with_events);
    };
    if (!in_order(tools, ended, append)) return false;
    out += ']';
    result.key("failedTools");
    append_strings(out, failed_tools);
    result.number("generationAttempt", generation_attempt);
    result.boolean("canReplan", can_replan);
    result.key("disabledSkills");
    append_strings(out, disabled_skills);
    result.key("stateConflicts");
    out += '[';
    for (size_t i = 0; i < conflicts.size(); ++i) {
        if (i > 0) out += ',';
        out += conflicts[i];
    }
    out += ']';
    result.end();
    return output.write(out);
}

}  // namespace narratoria::plan
