// SPDX-License-Identifier: Apache-2.0
#pragma once
// A tool that runs outside a parsed plan: a script's CALL, or narratoria.invoke/1. Becomes a tool of
// an open execution (Execution::append).

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/json/tape.hpp"
#include "tool/definition.hpp"

namespace narratoria::plan {

// Owns its texts. An invocation is one attempt unless it says otherwise; plans have the default of
// spec 003 §13.3.
struct ToolInvocation {
    std::string tool_id;            // unique in its execution
    std::string tool_path;          // not empty
    std::string input = "{}";       // a JSON object without spaces between its parts
    std::string operation = "run";  // the member "operation" of the input, if it is a string
    // The input satisfies the schema of this definition; NULL: unknown.
    std::shared_ptr<const tool::Definition> checked_by;
    std::unique_ptr<json::Document> environment;  // an object of strings; NULL: none
    std::optional<uint64_t> try_ms;               // 0: no limit; empty: the default
    uint32_t max_retries = 0;
    uint64_t backoff_ms = 100;
    uint32_t line = 0;  // in the script or program that invokes it; 0: unknown
};

// Reads {"tool","input","retryPolicy","timeoutMs","environment","line"}. Sets all members except
// tool_id and checked_by. Returns false and the reason if the text is not valid.
bool parse(std::string_view text, ToolInvocation& invocation, std::string& why);

}  // namespace narratoria::plan
