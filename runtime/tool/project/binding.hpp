// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a project folder says of one tool of specification 001: how it is called, and what it is kept
// from doing.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/guarantees.hpp"

namespace narratoria::tool::project {

inline constexpr int kProtocolVersion = 1;

enum class RunnerKind : uint8_t { Local, Service, Container };
constexpr std::string_view name_of(RunnerKind kind) {
    constexpr std::string_view kNames[] = {"local", "service", "container"};
    return kNames[static_cast<size_t>(kind)];
}

struct Pack {
    std::string id;
    std::string name;
    std::string version;
};

// The Python that runs local tools of a project.
struct PythonEnvironment {
    std::string interpreter;        // absolute
    std::string kind;               // python_env: "venv" or "system"
    std::string dependencies;       // deps_source: "pyproject", "requirements" or "none"
    std::vector<std::string> path;  // for PYTHONPATH: the packs' folders, then the project's
    std::string problem;  // for people, not empty: no tool can run, for example an empty .venv
};

// Immutable once it is shared.
struct Binding {
    std::string name;
    std::string kind = "python";  // or "node"
    std::string entry;            // "module:function"
    RunnerKind runner = RunnerKind::Local;
    std::string root;                         // the project's folder, absolute
    std::string flow;                         // project.flow of a service's request, or empty
    std::string purity = "impure";            // or "pure"
    std::string resolved_source = "binding";  // or "installed_pack", "builtin_pack"
    std::optional<Pack> pack;
    uint32_t timeout_ms = 10'000;
    std::map<std::string, std::string> environment;
    Guarantees guarantees;
    bool allow_unsafe = false;  // waives coverage (allow_unsafe_execution), never the guarantees
    PythonEnvironment python;   // local
    bool sandbox = false;       // local: covers the guarantees
    bool warm = true;           // local: forked from a server with the modules, not started anew
    std::string url;            // service
    bool handshake_required = false;   // service
    std::string image;                 // container
    std::vector<std::string> command;  // container
    std::string enforcement;           // container: "declared", "verified" or empty
    // For people, not empty: a file of the project is wrong about this tool, which cannot be called.
    std::string problem;
    std::string_view problem_reason;  // of the trace (spec 001): "unknown_runner", "pack_collision"
    // Service and container: the pack's own, and the user has not vouched for it. What it says that
    // it enforces covers nothing then.
    bool is_unvouched = false;

    bool needs_handshake() const { return handshake_required || guarantees.any(); }
    // What a container runs: its command, or else the usual one.
    std::vector<std::string> container_command() const;
};

// Appends a binding as nar_session_tools_find returns it.
void append_json(std::string& out, const Binding& binding);

// Why guarantees of a tool would not be enforced, and what to do; empty if they are, or if there are
// none. `is_sandboxed`: a local tool runs in a sandbox.
std::string coverage_problem(const Binding& binding, const Guarantees& guarantees,
                             bool is_sandboxed);
// The same of the guarantees that the project requires.
inline std::string coverage_problem(const Binding& binding) {
    return coverage_problem(binding, binding.guarantees, binding.sandbox);
}

// Why a call of the tool would not start; empty if nothing is known.
std::string problem_of(const Binding& binding);

}  // namespace narratoria::tool::project
