// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

namespace narratoria::tool {

// Validates the input in a tool's request (spec 000 §6) against the tool's JSON Schema. Returns an
// empty string if it is valid, else a message for people. Supports the part of draft 4 that
// RapidJSON implements. Thread-safe.
std::string check_input(std::string_view schema, std::string_view request);

}  // namespace narratoria::tool
