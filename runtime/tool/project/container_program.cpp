// SPDX-License-Identifier: Apache-2.0
#include "tool/project/container_program.hpp"

#include "process/find_program.hpp"

extern char** environ;

namespace narratoria::tool::project {

std::vector<std::string> environment_of_host() {
    std::vector<std::string> variables;
    for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
        variables.emplace_back(*each);
    }
    return variables;
}

std::string find_container_program(const std::vector<std::string>& environment,
                                   std::string& reason) {
    const std::string start = std::string(kContainerVariable) + "=";
    for (const std::string& variable : environment) {
        if (!variable.starts_with(start) || variable.size() == start.size()) continue;
        const std::string name = variable.substr(start.size());
        std::string found = process::find_program(name, environment, reason);
        if (!found.empty() && process::is_program(found)) return found;
        reason = variable + " is not a program" +
                 (found.empty() ? "" : " (" + process::why_no_program(found) + ")") +
                 "; name docker or podman";
        return {};
    }
    for (const char* name : {"docker", "podman"}) {
        std::string found = process::find_program(name, environment, reason);
        if (!found.empty()) return found;
    }
    reason = "neither docker nor podman was found; install one, or name it in " +
             std::string(kContainerVariable) + " (" + reason + ")";
    return {};
}

std::string instead_of_docker(const std::string& program,
                              const std::vector<std::string>& environment) {
    std::string ignored;
    if (!program.ends_with("/docker")) return {};
    if (process::find_program("podman", environment, ignored).empty()) return {};
    return "; podman is installed, too: set " + std::string(kContainerVariable) +
           "=podman to use it";
}

}  // namespace narratoria::tool::project
