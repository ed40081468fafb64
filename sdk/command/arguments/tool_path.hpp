// SPDX-License-Identifier: Apache-2.0
#pragma once
// The TOOL of `tool run` and `tool check`: a path to a program.

#include <string>

namespace narratoria::command {

struct ToolFile {
    std::string path;  // absolute
    std::string name;  // its file name: the toolId of a one-tool plan
};

// Throws Refused if the file does not exist or is not executable. A bare name is a file in the
// working folder; PATH is never searched.
ToolFile find_tool(const std::string& given);

}  // namespace narratoria::command
