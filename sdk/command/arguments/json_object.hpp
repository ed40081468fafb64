// SPDX-License-Identifier: Apache-2.0
#pragma once
// An option whose value is a JSON object: as text, @FILE, or - for standard input.

#include <optional>
#include <string>
#include <string_view>

namespace narratoria::command {

struct ObjectOption {
    std::string_view name;     // "--input"
    std::string_view is;       // "the input of a tool is"
    std::string_view example;  // for messages
};
inline constexpr ObjectOption kToolInput{"--input", "the input of a tool is",
                                         R"({"target": "door"})"};
inline constexpr ObjectOption kScriptScope{"--scope", "the variables of a script are",
                                           R"({"name": "Ada"})"};

// The file that the value is read from, "-", or empty: it is the object itself.
std::string file_of_object(const std::string& given);

// The object; "{}" if the option was not given. Throws Refused unless it is one JSON object.
std::string read_object(const ObjectOption& option, const std::optional<std::string>& given);

}  // namespace narratoria::command
