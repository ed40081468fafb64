// SPDX-License-Identifier: Apache-2.0
#pragma once
// The execution result (spec 003 §13.5): the outcome of a plan and of each tool.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/tape.hpp"
#include "base/json/writer.hpp"
#include "plan/ended_tools.hpp"
#include "plan/event_log.hpp"

namespace narratoria::plan {

// The plans of a prompt are numbered from 1 (generationAttempt). After the last one no new plan is
// requested (spec 003 §13.6).
inline constexpr uint32_t kMaxGenerations = 5;

enum class State : uint8_t { Completed, Failed, Skipped, Timeout };
const char* state_name(State state);

struct AttemptRecord {
    uint32_t attempt = 1;
    State state = State::Completed;
    std::string code;   // empty if it completed
    std::string error;  // human-readable
    int exit_status = -1;
    int signal = 0;
    int64_t started_us = 0;
    int64_t execution_ms = 0;
    uint64_t first_event = 0;
    uint64_t event_count = 0;
    uint64_t lines_after_done = 0;
    uint64_t user_us = 0;
    uint64_t system_us = 0;
    uint64_t resident_kb = 0;
    std::string guarantees;           // a JSON array, or empty
    std::string details;              // of the runner: a JSON object, or empty
    std::vector<std::string> traces;  // JSON objects (spec 001)
};

struct ToolResult {
    explicit ToolResult(std::shared_ptr<EventSpool> spool) : events(std::move(spool)) {}

    std::string tool_id;
    State state = State::Skipped;
    std::string output = "{}";
    std::string result;  // done.result as JSON; empty if there was none
    // The same, or empty if it was not parsed. Valid during Settings::on_tool_settled only.
    json::Value parsed_result;
    std::string summary;  // done.summary of the last attempt
    std::string message;  // errorMessage of the last error event of any attempt
    std::string error;
    std::string error_code;
    std::string diagnostics;  // the tail of standard error, valid UTF-8
    int64_t execution_ms = 0;
    uint32_t line = 0;  // see Tool
    EventLog events;
    std::vector<AttemptRecord> attempts;

    bool ok() const { return state == State::Completed; }
    uint32_t retry_count() const {
        return attempts.empty() ? 0 : static_cast<uint32_t>(attempts.size()) - 1;
    }
};

struct Result {
    std::string plan_id;
    std::string narrative;
    bool continues = false;            // the plan's "continue"
    std::vector<std::string> choices;  // the plan's
    bool success = false;
    bool cancelled = false;
    bool can_replan = false;
    bool timed_out = false;
    int64_t execution_ms = 0;
    int64_t descriptor_wait_ms = 0;  // while tools waited for file descriptors
    int64_t generation_attempt = 1;
    std::vector<std::string> failed_tools;
    std::vector<std::string> disabled_skills;
    std::vector<std::string> conflicts;  // {path, tools} as JSON, in the order of detection
    std::vector<ToolResult> tools;       // of an open execution: only those with many events
    EndedTools ended;                    // the other tools of an open execution
    std::shared_ptr<EventSpool> spool;

    // Adds a tool of an open execution, which has ended.
    void add_ended(ToolResult&& tool);

    // Writes the result as JSON. False if the output stopped.
    bool write(Output& output, bool with_events) const;
    uint64_t event_bytes() const { return (spool ? spool->total() : 0) + ended.event_bytes(); }
};

// Writes the members for an attempt's number and end, which results and records share.
void write_attempt_end(json::ObjectWriter& writer, const AttemptRecord& record);
// Writes the attempt's `traces`, if there are any.
void write_traces(json::ObjectWriter& writer, const AttemptRecord& record);

void append_strings(std::string& out, const std::vector<std::string>& texts);

}  // namespace narratoria::plan
