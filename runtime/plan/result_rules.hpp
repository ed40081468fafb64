// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks the rules of an execution result (spec 003 §13.5), including those that its JSON Schema
// cannot express.

#include "base/fault.hpp"
#include "base/json/tape.hpp"

namespace narratoria::plan {

// Returns all faults, sorted by their position in the text of the value's tape.
Faults check_result(json::Value root);

}  // namespace narratoria::plan
