// SPDX-License-Identifier: Apache-2.0
#pragma once
// The options of commands that run tools and scripts: how they are contained.

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
    // Views of `*this` are in `options` then.
    void apply_to(EngineOptions& options) const;
};

// The limits of scripts: --max-steps …
struct ScriptLimits {
    Limits limits;

    void add_to(Command command);
    void apply_to(EngineOptions& options) const;
};

}  // namespace narratoria::command
