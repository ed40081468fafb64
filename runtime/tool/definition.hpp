// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a tool is: a name, a schema and a runner, whoever brings it.

#include <cstdint>
#include <memory>
#include <string>

#include "tool/limits.hpp"

namespace narratoria::tool {

// The runner of executable files.
inline constexpr const char* kProcessRunner = "process";

struct Origin {
    // Plan: nothing is known of the tool but the toolPath of a plan, "scheme:rest".
    enum class Kind : uint8_t { File, Plugin, Host, Plan };
    Kind kind = Kind::File;
    std::string place;  // the file's path, or the id of the plugin or of the host's extension
};

// Immutable once it is shared: an attempt keeps the definition that it was started with, whatever
// becomes of the registry meanwhile.
struct Definition {
    std::string name;
    std::string description;
    std::string input_schema;   // JSON Schema on one line; empty: any object
    std::string result_schema;  // likewise, of done.result
    std::string runner;         // the name of a runner in Runners
    std::string settings;       // a JSON object for the runner, or empty
    LimitOverrides limits;      // over those of the session
    Origin origin;
};

// An executable file that says nothing about itself. `path` is absolute.
std::shared_ptr<const Definition> file_definition(const std::string& path);

}  // namespace narratoria::tool
