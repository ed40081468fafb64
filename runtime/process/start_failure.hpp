// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace narratoria::process {

struct StartFailure {
    bool out_of_descriptors = false;  // a retry may succeed after another process has ended
    bool no_supervisor = false;       // no program can be started: the host's settings are wrong
    bool may_retry = true;            // false: a retry fails in the same way
    std::string code = "SPAWN_FAILED";
    std::string message;
};

}  // namespace narratoria::process
