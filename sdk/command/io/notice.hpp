// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a record tells a person at once, whatever else is shown of the run.

#include <cstdint>
#include <string>
#include <string_view>

#include "io/message.hpp"
#include "json.hpp"
#include "narratoria/event.hpp"

namespace narratoria::command {

// A member's text, without control characters.
std::string one_line(const json::Value& value, std::string_view name);

// The kinds of records that can have one.
std::uint32_t notice_kinds() noexcept;

// A printable line: a warning of the runtime, a refused asset, a conflict of writes, an error of a tool,
// or its log of level warn or error. Empty for any other record.
std::string notice_of(const Event& event, const Style& style);

}  // namespace narratoria::command
