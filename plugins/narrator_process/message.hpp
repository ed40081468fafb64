// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parses a line from a narrator's process: {"id": N, "plan": {…}}, {"id": N, "error": "text"},
// {"id": N, "delta": "text"}, {"id": N, "usage": {…}} or {"id": N, "call": M, "invoke": {…}}.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace narratoria::plugins {

struct Message {
    std::optional<std::uint64_t> id;
    std::optional<std::string> plan;  // any JSON value; the host validates it
    std::optional<std::string> error;
    std::optional<std::string> delta;
    std::optional<std::string> usage;  // any JSON value; the host validates it
    std::optional<std::uint64_t> call;
    std::optional<std::string> invoke;  // any JSON value; the host validates it
};

// False if the line is not a JSON object; `fault` says why.
bool read_message(std::string_view line, Message& answer, std::string& fault);

}  // namespace narratoria::plugins
