// SPDX-License-Identifier: Apache-2.0
#pragma once
// The definition of a tool: a name, a schema and a runner. Used for tools of files, plugins, the
// host and projects.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tool/limits.hpp"
#include "tool/schema/schema.hpp"

namespace narratoria::tool {
namespace project {
struct Binding;
}

// The runner of executable files.
inline constexpr const char* kProcessRunner = "process";

struct Origin {
    // Plan: no definition is registered; only the toolPath of a plan, "scheme:rest", is known.
    enum class Kind : uint8_t { File, Plugin, Host, Plan, Project };
    Kind kind = Kind::File;
    // The path of the file, the id of the plugin, the owner in the host, or the path of the file
    // that binds the tool.
    std::string place;
};

// Returns the owner of a tool for messages: "the plugin dice".
std::string describe(const Origin& origin);

// Immutable once shared. An attempt holds a reference to its definition, so changes of the registry
// do not affect running attempts.
struct Definition {
    std::string name;
    std::string description;
    std::shared_ptr<const Schema> input;   // NULL: any object
    std::shared_ptr<const Schema> result;  // of done.result; NULL: any value
    bool result_is_advice = false;  // a result that violates its schema causes a warning only
    std::string runner;             // the name of a runner in Runners, or a scheme
    std::string path;               // the toolPath for which the name is an alias, or empty
    std::string settings;           // a JSON object for the runner, or empty
    std::shared_ptr<const project::Binding> binding;  // of a project's tool (spec 001), or NULL
    LimitOverrides limits;                            // override the session's limits
    std::optional<uint32_t> try_ms;  // timeout of one attempt, overrides the session's; 0: none
    bool waits = false;              // mostly waits: needs no processor core while it runs
    bool is_synchronous = false;    // Runner::call() can run it
    bool repeatable = true;          // false: a second run may do harm (NAR_TOOL_NOT_REPEATABLE)
    Origin origin;
};

// Returns the definition of an executable file, without description and schema. `path` must be
// absolute.
std::shared_ptr<const Definition> file_definition(const std::string& path);

// Appends a definition in the format of nar_session_tools_find. `problem`: the reason why it cannot
// run, or empty.
void append_json(std::string& out, const Definition& definition, std::string_view script_name,
                 std::string_view problem);

}  // namespace narratoria::tool
