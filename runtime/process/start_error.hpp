// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

namespace narratoria::process {

// Why a program could not be started, for people. `stage`: a supervisor_stage; `error`: an errno;
// `groups`: the engine's cgroup folder.
std::string describe_start_failure(uint32_t stage, int error, const std::string& path,
                                   const std::string& folder, const std::string& groups);

// False if only a change of the file, of its path or of the machine mends the failure.
bool may_start_later(uint32_t stage, int error);

}  // namespace narratoria::process
