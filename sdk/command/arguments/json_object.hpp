// SPDX-License-Identifier: Apache-2.0
#pragma once
// An option that takes a JSON object: as text, @FILE, or - for standard input.

#include <optional>
#include <string>
#include <string_view>

namespace narratoria::command {

struct ObjectOption {
    std::string_view name;     // "--input"
    std::string_view is;       // "the tool's input", for messages
    std::string_view example;  // for messages
};
inline constexpr ObjectOption kToolInput{"--input", "the tool's input", R"({"target": "door"})"};
inline constexpr ObjectOption kToolState{"--state", "the session's state",
                                         R"({"lamp": {"lit": true}})"};
inline constexpr ObjectOption kScriptScope{"--scope", "the script's variables",
                                           R"({"name": "Ada"})"};

// The file that the value is read from, "-" for standard input, or empty if `given` is the object.
std::string file_of_object(const std::string& given);

// The object; "{}" if the option was not given. Throws Refused unless it is one JSON object.
std::string read_object(const ObjectOption& option, const std::optional<std::string>& given);

}  // namespace narratoria::command
