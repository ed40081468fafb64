// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace narratoria::clock {

// Microseconds since the Unix epoch, for records.
int64_t wall_us();

// Milliseconds that only go forward, for durations.
int64_t steady_ms();

// 2026-11-21T09:30:00.123456Z
std::string to_iso8601(int64_t wall_us);

// Whether a text is an ISO-8601 date and time (calendar date, optional fraction and offset).
bool is_iso8601(std::string_view text);

}  // namespace narratoria::clock
