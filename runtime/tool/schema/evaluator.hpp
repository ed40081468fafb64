// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/json/tape.hpp"
#include "tool/schema/program.hpp"
#include "tool/schema/schema.hpp"

namespace narratoria::tool {

// True if `value` fits. Otherwise appends the faults to `faults`, unless that is NULL.
bool evaluate(const Program& program, json::Value value, SchemaFaults* faults);

}  // namespace narratoria::tool
