// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/json/tape.hpp"
#include "tool/schema/program.hpp"
#include "tool/schema/schema.hpp"

namespace narratoria::tool {

// Returns true if `value` satisfies the schema. Otherwise appends faults to `faults`, which may be
// NULL.
bool evaluate(const Program& program, json::Value value, SchemaFaults* faults);

}  // namespace narratoria::tool
