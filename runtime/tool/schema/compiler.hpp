// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

#include "base/fault.hpp"
#include "tool/schema/program.hpp"

namespace narratoria::tool {

// Compiles the schema in `text`. Returns false and appends its faults, at most Schema::kMaxFaults,
// if it is not valid.
bool compile_schema(std::string_view text, Program& program, Faults& faults);

}  // namespace narratoria::tool
