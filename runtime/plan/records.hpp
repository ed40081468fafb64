// SPDX-License-Identifier: Apache-2.0
#pragma once
// Builds the bodies of the records that an execution publishes, as JSON. Their schemas are in
// abi/schemas.

#include <cstdint>
#include <string>
#include <string_view>

#include "plan/plan.hpp"
#include "plan/result.hpp"

namespace narratoria::plan::records {

std::string plan_started(const Plan& plan, int64_t generation_attempt,
                         std::string_view parent_plan_id, bool is_open);
std::string narrative(std::string_view text);
std::string tool_pending(const Plan& plan, uint32_t tool);
std::string tool_pending(const Tool& tool);  // without dependencies
std::string tool_started(const Tool& tool);
std::string attempt_started(uint32_t attempt);
std::string attempt_ended(const AttemptRecord& record);
std::string tool_ended(const ToolResult& tool);
std::string asset_refused(std::string_view asset_id, std::string_view code,
                          std::string_view message);
std::string state_conflict(std::string_view path, std::string_view first_tool,
                           std::string_view second_tool);
std::string plan_ended(const Result& result);

}  // namespace narratoria::plan::records
