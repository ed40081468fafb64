// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a tool of a plan is given when it starts.

#include <cstdint>
#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "plan/result.hpp"

namespace narratoria::plan {

// The document on the tool's standard input, as a line (spec 000 §6). `results` are those of all tools
// of the plan, in its order.
std::string request_of(const Plan& plan, uint32_t tool, const std::vector<ToolResult>& results);

// `shared`, a list of NAME=value, with the tool's own variables in place of those of the same name.
std::vector<std::string> environment_of(const Tool& tool, const std::vector<std::string>& shared);

}  // namespace narratoria::plan
