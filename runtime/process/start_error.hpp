// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

namespace narratoria::process {

// Returns a message for a program that could not be started. `stage`: a supervisor_stage; `error`:
// an errno; `groups`: the engine's cgroup folder.
std::string describe_start_failure(uint32_t stage, int error, const std::string& path,
                                   const std::string& folder, const std::string& groups);

// Returns false if a retry fails until the file, its path or the machine changes.
bool may_start_later(uint32_t stage, int error);

}  // namespace narratoria::process
