// SPDX-License-Identifier: Apache-2.0
#pragma once
// The input of a tool: its request document and its environment.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.hpp"
#include "plan/result.hpp"

namespace narratoria::plan {

// Returns the document for the tool's standard input, as one line (spec 000 §6). `results` holds
// the results of all tools, in plan order. `state`: a JSON object; empty: the tool gets none. `seed`:
// of seed_of().
std::string request_of(const Plan& plan, uint32_t tool, const std::vector<ToolResult>& results,
                       std::string_view state, uint32_t seed);
// The same document of a tool without dependencies, in two parts: before and after the input.
std::string begin_request(std::string_view plan_id, std::string_view tool_path,
                          std::string_view operation);
void end_request(std::string& out, uint32_t seed);
// Returns the number with which an attempt seeds its dice. It depends on the arguments only.
uint32_t seed_of(uint64_t execution, std::string_view tool_id, uint32_t attempt);

// Returns `shared`, a list of NAME=value, with the tool's own variables added. They replace
// variables of the same name.
std::vector<std::string> environment_of(const Tool& tool, const std::vector<std::string>& shared);

}  // namespace narratoria::plan
