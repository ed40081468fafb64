// SPDX-License-Identifier: Apache-2.0
#pragma once
// The definition of a tool: a name, a schema and a runner. Used for tools of files, plugins, the
// host and projects.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/guarantees.hpp"
#include "tool/limits.hpp"
#include "tool/schema/schema.hpp"

namespace narratoria::tool {

struct StartFailure;

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

// How a project calls its tool (spec 001). What only the project's own runners need is in
// tool/project/binding.hpp.
class ProjectBinding {
public:
    virtual ~ProjectBinding() = default;

    // The error of the project's files about this tool, which cannot be called then; or empty.
    virtual std::string_view fault() const = 0;
    // Returns the reason why a call would not start; empty if none is known.
    virtual std::string start_problem() const = 0;
    // The name of its runner.
    virtual std::string_view runner_name() const = 0;
    // The absolute path of the folder with its code; empty if a service or a container has the code.
    virtual std::string_view code_folder() const = 0;
    // Appends it in the format of nar_session_tools_find.
    virtual void append_json(std::string& out) const = 0;

    // A call without an attempt: its input is invalid, it has no runner, or the runner could not
    // start it.
    struct RefusedCall {
        const Guarantees& guarantees;  // required in addition to the binding's
        std::string_view request;      // the document of spec 000 §6
        uint64_t timeout_ms;           // 0: no limit
        const StartFailure& failure;
        bool is_forbidden;  // the engine or the story does not allow the tool
    };
    // Returns its traces, JSON objects.
    virtual std::vector<std::string> traces_of(const RefusedCall& call) const = 0;
};

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
    std::shared_ptr<const ProjectBinding> binding;  // of a project's tool (spec 001), or NULL
    LimitOverrides limits;                          // override the session's limits
    std::string resources;                          // of the manifest: a JSON object, or empty
    std::vector<std::string> state;                 // JSON Pointers: what it gets of the state
    std::optional<uint32_t> try_ms;  // timeout of one attempt, overrides the session's; 0: none
    bool waits = false;              // mostly waits: needs no processor core while it runs
    bool is_synchronous = false;     // ends within its start (NAR_TOOL_SYNCHRONOUS)
    bool repeatable = true;          // false: a second run may do harm (NAR_TOOL_NOT_REPEATABLE)
    Origin origin;
};

// Returns the definition of an executable file, without description and schema. `path` must be
// absolute.
std::shared_ptr<const Definition> file_definition(const std::string& path);

// Appends a definition in the format of nar_session_tools_find. `required`: the guarantees that the
// engine and the story require of it. `problem`: the reason why it cannot run, or empty.
void append_json(std::string& out, const Definition& definition, std::string_view script_name,
                 const Guarantees& required, std::string_view problem);

}  // namespace narratoria::tool
