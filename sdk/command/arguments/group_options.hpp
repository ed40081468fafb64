// SPDX-License-Identifier: Apache-2.0
#pragma once
// The options of commands that run tools in control groups.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "narratoria/engine.hpp"

namespace narratoria::command {

struct GroupOptions {
    std::string cgroup;
    std::uint32_t processes = 0;
    std::uint64_t resident_bytes = 0;

    void add_to(CLI::App& command);
    // Views of `*this` are in `options` then.
    void apply_to(EngineOptions& options) const;
};

}  // namespace narratoria::command
