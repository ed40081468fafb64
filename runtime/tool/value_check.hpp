// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks a tool's input and result against the schemas of its definition. Thread-safe.

#include <string>
#include <string_view>

#include "tool/definition.hpp"

namespace narratoria::tool {

struct Outcome;

// Checks the input in a tool's request (spec 000 §6). Returns an empty string if it is valid, else
// a message for people with all faults.
std::string check_input(const Definition& definition, std::string_view request);

// Checks the result of an attempt that succeeded. A violation makes it a failure, RESULT_INVALID,
// or a warning if the schema is advice. An attempt without a result is left as it is.
void check_result(const Definition& definition, bool is_advice, Outcome& outcome);

}  // namespace narratoria::tool
