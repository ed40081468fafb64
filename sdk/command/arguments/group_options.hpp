// SPDX-License-Identifier: Apache-2.0
#pragma once
// The containment options of commands that run tools and scripts: cgroup, sandbox, limits.

#include <cstdint>
#include <string>

#include "arguments/command_line.hpp"
#include "narratoria/engine.hpp"

namespace narratoria::command {

struct GroupOptions {
    std::string cgroup;
    Limits limits;
    std::string sandbox;

    void add_to(Command command);
    // `options` gets views of `*this`, which must outlive it.
    void apply_to(EngineOptions& options) const;
};

// The limits of scripts: --max-steps …
struct ScriptLimits {
    Limits limits;

    void add_to(Command command);
    void apply_to(EngineOptions& options) const;
};

}  // namespace narratoria::command
