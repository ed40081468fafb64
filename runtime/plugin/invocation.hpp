// SPDX-License-Identifier: Apache-2.0
#pragma once
// The messages of a tool invocation that a plugin runs. The engine's inbox carries its output and
// end.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/inbox.hpp"
#include "state/replacement.hpp"

namespace narratoria::plugin {

// The end of an invocation as the plugin reported it; see nar_invocation_end.
struct InvocationEnd {
    int32_t exit_status = 0;
    std::string error_code;
    std::string error;
    std::string details;  // a JSON object, or empty
    uint64_t user_us = 0;
    uint64_t system_us = 0;
    uint64_t resident_kb = 0;
    bool is_permanent = false;
};

// The message if a tool with NAR_TOOL_SYNCHRONOUS uses its token for a write.
inline constexpr const char* kIsSynchronous =
    "a synchronous tool (NAR_TOOL_SYNCHRONOUS) must change the state by events "
    "(state_patch)";

// Receives the messages of one invocation. The plugin's Instance owns the token, whose end type is
// InvocationEnd. Engine thread only.
class InvocationReceiver : public Inbox::Receiver {
public:
    // The plugin delegates the invocation to a program. Closes the token.
    virtual nar_status on_run(std::vector<std::string> arguments) = 0;
    // True while an event of the invocation is handled. No output may be delivered during that
    // time.
    virtual bool is_delivering() const = 0;
    // The tool waits for a place to run, or runs.
    virtual void on_waiting(bool waits) = 0;
    // The tool patches the state by a call, which takes effect immediately. `patch`: a JSON object
    // on one line.
    virtual nar_status on_patch(const state::Replacement& patch, std::string& why) = 0;
};

}  // namespace narratoria::plugin
