// SPDX-License-Identifier: Apache-2.0
#pragma once
// The fixed beginning of each request: how the model narrates, and the tools.

#include <string>
#include <vector>

#include "narrator_llm/answer_schema.hpp"
#include "narrator_llm/settings.hpp"
#include "narratoria/plugin.hpp"

namespace narratoria::llm {

// The story's instructions, or the default ones. Throws std::runtime_error if the story's file cannot be read.
std::string read_instructions(const plugin::Host& host, const ModelSettings& settings);

// The instructions, the form of an answer, and the tools that it may use.
std::string rules_of(const std::string& instructions, const std::vector<ToolDescription>& tools);

}  // namespace narratoria::llm
