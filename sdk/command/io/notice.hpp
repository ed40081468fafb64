// SPDX-License-Identifier: Apache-2.0
#pragma once
// One-line notices for records that a person must see immediately, in addition to the progress of
// the run.

#include <cstdint>
#include <string>
#include <string_view>

#include "io/message.hpp"
#include "json.hpp"
#include "narratoria/event.hpp"

namespace narratoria::command {

// A member's text, without control characters.
std::string one_line(const json::Value& value, std::string_view name);

// The kinds of records that can have a notice.
std::uint32_t notice_kinds() noexcept;

// A printable line for a warning of the runtime, a refused asset, a write conflict, an error of a
// tool, or a log of level warn or error. Empty for other records.
std::string notice_of(const Event& event, const Style& style);

}  // namespace narratoria::command
