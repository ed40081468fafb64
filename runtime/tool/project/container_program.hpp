// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

namespace narratoria::tool::project {

// Environment variable with the path of the container program, or its name in PATH.
inline constexpr const char* kContainerVariable = "NARRATORIA_CONTAINER_RUNTIME";

// Returns the environment of this process, each variable as NAME=value.
std::vector<std::string> environment_of_host();

// Returns the path of the container program: NARRATORIA_CONTAINER_RUNTIME in `environment`, else
// docker, else podman. Returns "" and sets `reason` if none is found.
std::string find_container_program(const std::vector<std::string>& environment,
                                   std::string& reason);

// Returns how to select podman if `program` is docker, which takes precedence, and podman is
// installed; otherwise "". docker may be there without its daemon.
std::string instead_of_docker(const std::string& program,
                              const std::vector<std::string>& environment);

}  // namespace narratoria::tool::project
