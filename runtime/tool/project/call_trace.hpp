// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes the traces of a call of a project's tool (spec 001). No other file knows their fields.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/guarantees.hpp"
#include "tool/project/binding.hpp"
#include "tool/runner.hpp"

namespace narratoria::tool {

// The error type of a call that failed because of a guarantee.
inline constexpr std::string_view kCapabilityViolation = "CapabilityViolation";

// Returns a capability_check. `duration`: a JSON number, or empty.
std::string check_trace(const project::Binding& binding, std::string_view capability, bool allowed,
                        std::string_view source, std::string_view reason,
                        std::string_view duration = {});

// Returns a capability_check for each guarantee of a call that must not start because they are not
// enforced. Enforced guarantees have no entry: an entry is an attempted act, and "allowed" says
// whether it was permitted.
std::vector<std::string> uncovered_traces(const project::Binding& binding,
                                          const Guarantees& guarantees);

// The data of a tool_call trace. Everything that it refers to must outlive it.
struct ToolCall {
    const project::Binding& binding;
    std::string_view payload;  // JSON
    uint64_t timeout_ms = 0;
    int64_t duration_ms = 0;
    std::string_view enforcement_level{};  // from a service's handshake; else empty
    std::string container_runtime{};       // the name of the program
    bool is_unsafe_override = false;
    bool others_require = false;  // the host or the story requires guarantees
    bool ok = false;
    std::string_view result{};         // JSON, if ok
    std::string_view error_type{};     // if not ok
    std::string_view error_message{};  // if not ok
    bool is_forbidden = false;         // by the host or the story
};
std::string tool_call_trace(const ToolCall& call);

// Returns the member "input" of a request as JSON; "{}" if it is missing.
std::string input_of(std::string_view request);

}  // namespace narratoria::tool
