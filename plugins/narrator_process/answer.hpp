// SPDX-License-Identifier: Apache-2.0
#pragma once
// A line that a narrator's process wrote: {"id": N, "plan": {…}}, {"id": N, "error": "text"} or
// {"id": N, "call": M, "invoke": {…}}.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace narratoria::plugins {

struct Answer {
    std::optional<std::uint64_t> id;
    std::optional<std::string> plan;  // JSON of any kind; whether it is a plan the host judges
    std::optional<std::string> error;
    std::optional<std::uint64_t> call;
    std::optional<std::string> invoke;  // JSON of any kind; whether it is an invocation, likewise
};

// False when it is no JSON object, and why.
bool read_answer(std::string_view line, Answer& answer, std::string& fault);

}  // namespace narratoria::plugins
