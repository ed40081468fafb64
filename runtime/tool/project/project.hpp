// SPDX-License-Identifier: Apache-2.0
#pragma once
// A project of specification 001: a folder that binds tools to Python functions, services and
// containers, in the format of Namel3ss.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fault.hpp"
#include "tool/definition.hpp"

namespace narratoria::tool::project {

// What the outside says about a project.
struct Surroundings {
    std::vector<std::string> environment;  // of the tools, NAME=value
    // Variables of this process that count more than namel3ss.toml. Empty: not set.
    std::string timeout_seconds;  // N3_PYTHON_TOOL_TIMEOUT_SECONDS
    std::string service_url;      // N3_TOOL_SERVICE_URL
    // Folders of built-in packs: those of NARRATORIA_PACK_PATH and <lib>/narratoria/packs.
    std::vector<std::string> builtin_packs;
};
// `environment`: of the tools. Reads the variables of this process.
Surroundings surroundings(std::vector<std::string> environment);

struct Project {
    std::string root;  // absolute
    // Of the built-in packs, of the other packs, then of tools.yaml.
    std::vector<std::shared_ptr<const Definition>> tools;
};

// The rule of the only fault if the folder is missing, is no folder, or has nothing of a project.
inline constexpr const char* kFolderRule = "project-folder";

// True if the folder has a .namel3ss/.
bool is_project(const std::string& folder);

// Reads a project. Returns nothing if it breaks a rule; `faults` then holds all faults, each with
// file, line and column. Otherwise `faults` gets warnings only.
std::optional<Project> load(const std::string& folder, const Surroundings& surroundings,
                            Faults& faults);

// Like load(), for an author: also appends what would make calls fail on this machine, such as a
// missing interpreter or module, and guarantees that nothing enforces.
void check(const std::string& folder, const Surroundings& surroundings, Faults& faults);

}  // namespace narratoria::tool::project
