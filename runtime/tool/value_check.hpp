// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks a tool's input and result against the schemas of its definition. Thread-safe.

#include <string>
#include <string_view>

#include "tool/definition.hpp"

namespace narratoria::tool {

struct Outcome;

// Checks the input in a tool's request (spec 000 §6). Returns a message with all faults; empty if
// the input is valid.
std::string check_input(const Definition& definition, std::string_view request);

// Checks the result of a successful attempt. A violation makes it a failure, RESULT_INVALID, or
// adds a warning if the schema is advice. Does nothing for an attempt without a result.
void check_result(const Definition& definition, bool is_advice, Outcome& outcome);

}  // namespace narratoria::tool
