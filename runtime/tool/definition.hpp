// SPDX-License-Identifier: Apache-2.0
#pragma once
// The definition of a tool: a name, a schema and a runner. The same for files, plugins and the
// host.

#include <cstdint>
#include <memory>
#include <string>

#include "tool/limits.hpp"

namespace narratoria::tool {

// The runner of executable files.
inline constexpr const char* kProcessRunner = "process";

struct Origin {
    // Plan: no definition is registered; only the toolPath of a plan, "scheme:rest", is known.
    enum class Kind : uint8_t { File, Plugin, Host, Plan };
    Kind kind = Kind::File;
    std::string place;  // the file's path, or the id of the plugin or of the host's extension
};

// Immutable once it is shared. An attempt holds a reference to its definition, so changes of the
// registry do not affect running attempts.
struct Definition {
    std::string name;
    std::string description;
    std::string input_schema;   // JSON Schema on one line; empty: any object
    std::string result_schema;  // likewise, of done.result
    std::string runner;         // the name of a runner in Runners
    std::string settings;       // a JSON object for the runner, or empty
    LimitOverrides limits;      // over those of the session
    bool waits = false;         // needs no processor core while it runs
    Origin origin;
};

// The definition of an executable file: no description, no schema. `path` must be absolute.
std::shared_ptr<const Definition> file_definition(const std::string& path);

}  // namespace narratoria::tool
