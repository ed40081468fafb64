// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include "base/json/tape.hpp"
#include "tool/schema/program.hpp"

namespace narratoria::tool {

// The message about a member that the schema does not allow: the similar name that may be meant, or
// the allowed names.
std::string unknown_member(const ObjectRules& rules, json::Value object, std::string_view name);

}  // namespace narratoria::tool
