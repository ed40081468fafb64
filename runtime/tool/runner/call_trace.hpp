// SPDX-License-Identifier: Apache-2.0
#pragma once
// The traces of a call of a project's tool (spec 001). The only place that knows their fields.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/guarantees.hpp"
#include "tool/project/binding.hpp"
#include "tool/runner/runner.hpp"

namespace narratoria::tool {

// The type of the error of a call that a guarantee ended.
inline constexpr std::string_view kCapabilityViolation = "CapabilityViolation";

// A capability_check. `duration`: a number as JSON, or empty.
std::string check_trace(const project::Binding& binding, std::string_view capability, bool allowed,
                        std::string_view source, std::string_view reason,
                        std::string_view duration = {});

// One for each of the guarantees of a call that may not begin, because nothing enforces them. A
// guarantee that is enforced has no entry: an entry is an act that was tried, and "allowed" says whether
// it was permitted.
std::vector<std::string> uncovered_traces(const project::Binding& binding,
                                          const Guarantees& guarantees);

// What a tool_call is made of. What it points to must outlive it.
struct ToolCall {
    const project::Binding& binding;
    std::string_view payload;  // JSON
    uint64_t timeout_ms = 0;
    int64_t duration_ms = 0;
    std::string_view enforcement_level{};  // of a service that was asked; else empty
    std::string container_runtime{};       // the name of the program
    bool is_unsafe_override = false;
    bool others_require = false;  // guarantees, besides those of the binding
    bool ok = false;
    std::string_view result{};         // JSON, if ok
    std::string_view error_type{};     // if not
    std::string_view error_message{};  // if not
    bool is_forbidden = false;         // by the host or the story
};
std::string tool_call_trace(const ToolCall& call);

// The traces of a call that no attempt was made of: its input is not valid, there is no runner for
// it, or the runner could not start it. `guarantees`: required besides those of the binding.
// `is_forbidden`: by the restrictions of the engine or the story.
// `request`: the document of spec 000 §6.
std::vector<std::string> refused_call_traces(const project::Binding& binding,
                                             const Guarantees& guarantees, std::string_view request,
                                             uint64_t timeout_ms, const StartFailure& failure,
                                             bool is_forbidden);

// The member "input" of a request, as JSON.
std::string input_of(std::string_view request);

}  // namespace narratoria::tool
