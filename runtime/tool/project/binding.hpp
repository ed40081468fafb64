// SPDX-License-Identifier: Apache-2.0
#pragma once
// A binding: how a project folder calls one tool of specification 001, and which guarantees apply.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/guarantees.hpp"
#include "tool/definition.hpp"

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
    // NAME=value, from the project's .env; variables of the host and of the story take precedence.
    std::vector<std::string> variables;
    // A message for the user. If not empty, no tool can run, for example with an empty .venv.
    std::string problem;
};

// Immutable once shared between threads.
struct Binding final : ProjectBinding {
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
    bool warm = true;           // local: fork from a server that has imported the modules
    std::string url;            // service
    bool handshake_required = false;   // service
    std::string image;                 // container
    std::vector<std::string> command;  // container
    std::string enforcement;           // container: "declared", "verified" or empty
    // A message for the user. If not empty, the project's files have an error about this tool, and
    // it cannot be called.
    std::string problem;
    // Reason for the trace (spec 001): "unknown_runner", "pack_collision", "pack_pin_missing",
    // "pack_permission_denied" or "pack_unavailable_or_unverified"; empty for other errors.
    std::string_view problem_reason;
    // True if the service or image comes from the pack and the user has not vouched for it. Its own
    // claims of enforcement then cover no guarantee.
    bool is_unvouched = false;

    bool needs_handshake() const { return handshake_required || guarantees.any(); }
    // The command that the container runs: `command`, or the default one.
    std::vector<std::string> container_command() const;

    std::string_view fault() const override { return problem; }
    std::string start_problem() const override;
    std::string_view runner_name() const override { return name_of(runner); }
    std::string_view code_folder() const override {
        return runner == RunnerKind::Local ? std::string_view(root) : std::string_view();
    }
    void append_json(std::string& out) const override;
    std::vector<std::string> traces_of(const RefusedCall& call) const override;
};

// Returns the remedy if guarantees of a tool would not be enforced; empty if they are, or if there
// are none. `is_sandboxed`: a local tool runs in a sandbox.
std::string coverage_problem(const Binding& binding, const Guarantees& guarantees,
                             bool is_sandboxed);
// The same for the guarantees that the project requires.
inline std::string coverage_problem(const Binding& binding) {
    return coverage_problem(binding, binding.guarantees, binding.sandbox);
}

}  // namespace narratoria::tool::project
