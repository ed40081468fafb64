// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

namespace narratoria::tool::project {

// A path, or a name in PATH.
inline constexpr const char* kContainerVariable = "NARRATORIA_CONTAINER_RUNTIME";

// Of this process, NAME=value.
std::vector<std::string> environment_of_host();

// The program that makes containers: what NARRATORIA_CONTAINER_RUNTIME in `environment` names, else
// docker, else podman. "" with a reason if there is none.
std::string find_container_program(const std::vector<std::string>& environment,
                                   std::string& reason);

}  // namespace narratoria::tool::project
