// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loads projects of specification 001: folders that bind tools to Python functions, services and
// containers, in the format of Namel3ss.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fault.hpp"
#include "tool/definition.hpp"

namespace narratoria::tool::project {

// Input from outside the project's folder.
struct Surroundings {
    std::vector<std::string> environment;  // of the tools, NAME=value
    // Variables of this process that take precedence over namel3ss.toml. Empty: not set.
    std::string timeout_seconds;             // N3_PYTHON_TOOL_TIMEOUT_SECONDS
    std::string service_url;                 // N3_TOOL_SERVICE_URL
    std::string pack_path;                   // NARRATORIA_PACK_PATH
    std::vector<std::string> builtin_packs;  // folders of packs that come after those
};
// Reads the variables of this process. `environment`: the variables of the tools.
Surroundings surroundings(std::vector<std::string> environment);

struct Project {
    std::string root;  // absolute
    // In this order: tools of the built-in packs, of the other packs, of tools.yaml.
    std::vector<std::shared_ptr<const Definition>> tools;
};

// The rule of the only fault if the folder is missing, not a folder, or not a project.
inline constexpr const char* kFolderRule = "project-folder";

// True if the folder has a .namel3ss/.
bool is_project(const std::string& folder);

// Reads a project. Returns nothing if it has errors; `faults` then lists all of them with file,
// line and column. Otherwise appends only warnings to `faults`. An error in one tool or pack is a
// warning: the project loads, and calls of those tools fail.
std::optional<Project> load(const std::string& folder, const Surroundings& surroundings,
                            Faults& faults);

// Like load(), for authors: also reports everything that would make calls fail on this machine,
// such as a missing interpreter or module, guarantees that are not enforced, and tools that scripts
// cannot tell apart. `script_name`: the name by which scripts call a tool.
void check(const std::string& folder, const Surroundings& surroundings,
           std::string (*script_name)(const Definition&), Faults& faults);

}  // namespace narratoria::tool::project
