// SPDX-License-Identifier: Apache-2.0
#pragma once
// A tool that a plugin runs. The engine's inbox carries its output and its end.

#include <cstdint>
#include <string>
#include <vector>

#include "base/inbox.hpp"

namespace narratoria::plugin {

// How it ended, as the plugin says; see nar_invocation_end.
struct InvocationEnd {
    int32_t exit_status = 0;
    std::string error_code;
    std::string error;
    uint64_t user_us = 0;
    uint64_t system_us = 0;
    uint64_t resident_kb = 0;
};

// Its tokens are opened with InvocationEnd, in the name of the plugin's Instance.
class InvocationReceiver : public Inbox::Receiver {
public:
    // The plugin hands the work over to a program.
    virtual nar_status on_run(std::vector<std::string> arguments) = 0;
};

}  // namespace narratoria::plugin
