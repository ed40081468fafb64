// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads nar_tool, the description of a function that is a tool.

#include <memory>
#include <string>

#include "base/fault.hpp"
#include "narratoria/tool.h"
#include "tool/definition.hpp"

namespace narratoria::plugin {

// The reason why a description cannot be used.
struct ToolRefusal {
    std::string code;     // TOOL_NAME, INPUT_SCHEMA, RESULT_SCHEMA …
    std::string message;  // one human-readable line; follows "the tool "
    Faults faults;        // the faults of a schema
    std::string schema;   // the text of that schema
};

// Copies a description; fields beyond its size count as empty. `tool` may be NULL. Returns a
// definition without runner and origin, or NULL and a refusal.
std::shared_ptr<tool::Definition> read_tool(const nar_tool* tool, ToolRefusal& refusal);

}  // namespace narratoria::plugin
