// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

namespace narratoria::tool {

// Checks the input in a tool's request (spec 000 §6) against the tool's JSON Schema. Empty when it
// fits, else what does not, for people. The schema's draft is 4, as far as RapidJSON knows it.
std::string check_input(std::string_view schema, std::string_view request);

}  // namespace narratoria::tool
