// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace narratoria {

// A source of time and timers for a Loop. Only tests implement it, to advance time without waiting.
// A loop without a Clock uses the functions below and libuv's timers.
class Clock {
public:
    virtual ~Clock() = default;
    virtual int64_t wall_us() const = 0;
    virtual int64_t steady_ms() const = 0;
    // Calls `on_time` once after the delay, unless stopped before. Returns the timer's id, never 0.
    virtual uint64_t start(uint64_t milliseconds, std::function<void()> on_time) = 0;
    virtual void stop(uint64_t timer) = 0;
};

}  // namespace narratoria

namespace narratoria::clock {

// Microseconds since the Unix epoch, for records. Thread-safe, like all functions here.
int64_t wall_us();

// Monotonic time, for durations.
int64_t steady_us();
int64_t steady_ms();

// 2026-11-21T09:30:00.123456Z
std::string to_iso8601(int64_t wall_us);

// True if `text` is an ISO 8601 date and time: a complete calendar, week or ordinal date, `T`, and
// a time with optional fraction and offset, in basic or extended format. All checks of timestamps
// use this function; tests/conformance/cases/timestamps.json lists its cases.
bool is_iso8601(std::string_view text);

}  // namespace narratoria::clock
