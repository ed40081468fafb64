// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace narratoria {

// Time for a loop and its timers. Only tests implement it, to let time pass without waiting: a loop
// without one uses the functions below and the timers of libuv.
class Clock {
public:
    virtual ~Clock() = default;
    virtual int64_t wall_us() const = 0;
    virtual int64_t steady_ms() const = 0;
    // Calls `on_time` once, after a time, unless it is stopped before. The number is never 0.
    virtual uint64_t start(uint64_t milliseconds, std::function<void()> on_time) = 0;
    virtual void stop(uint64_t timer) = 0;
};

}  // namespace narratoria

namespace narratoria::clock {

// Microseconds since the Unix epoch, for records.
int64_t wall_us();

// Milliseconds that only go forward, for durations.
int64_t steady_ms();

// 2026-11-21T09:30:00.123456Z
std::string to_iso8601(int64_t wall_us);

// Whether a text is a date and time of ISO 8601: a complete calendar, week or ordinal date, `T`, and a
// time with optional fraction and offset, in the basic or the extended form. The one rule for
// timestamps; tests/conformance/cases/timestamps.json lists its cases.
bool is_iso8601(std::string_view text);

}  // namespace narratoria::clock
