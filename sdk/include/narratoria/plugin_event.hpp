// SPDX-License-Identifier: Apache-2.0
#pragma once
// One record of the event stream, as a plugin receives it. Not for direct use: include
// narratoria/plugin.hpp.

#include "narratoria/event.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace narratoria::plugin {

namespace detail {

inline void append_quoted(std::string& out, std::string_view text) {
    static constexpr char digits[] = "0123456789abcdef";
    out += '"';
    for (const char letter : text) {
        const auto code = static_cast<unsigned char>(letter);
        if (code < 0x20) {
            out += "\\u00";
            out += digits[code >> 4];
            out += digits[code & 15];
        } else {
            if (letter == '"' || letter == '\\') out += '\\';
            out += letter;
        }
    }
    out += '"';
}

inline void append_number(std::string& out, std::uint64_t number) {
    std::array<char, 20> digits;
    const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), number);
    out.append(digits.data(), written.ptr);
}

// 2026-11-21T09:30:00.123456Z
inline void append_time(std::string& out, std::chrono::sys_time<std::chrono::microseconds> time) {
    const auto day = std::chrono::floor<std::chrono::days>(time);
    const std::chrono::year_month_day date(day);
    const std::chrono::hh_mm_ss<std::chrono::microseconds> clock(time - day);
    std::array<char, 64> text;
    const int length = std::snprintf(
        text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%06dZ",
        static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
        static_cast<unsigned>(date.day()), static_cast<int>(clock.hours().count()),
        static_cast<int>(clock.minutes().count()), static_cast<int>(clock.seconds().count()),
        static_cast<int>(clock.subseconds().count()));
    out.append(text.data(), static_cast<std::size_t>(length));
}

inline constexpr std::string_view kKindNames[] = {
    "unknown",           "tool_event",    "prompt",         "narrative",  "plan_started",
    "plan_ended",        "tool_pending",  "tool_started",   "tool_ended", "attempt_started",
    "attempt_ended",     "asset_refused", "state_conflict", "warning",    "ui_placeholder",
    "asset_placeholder", "turn_ended",    "state_patched",
};

}  // namespace detail

// Returns text as a JSON string with quotes. It must be valid UTF-8, which is not checked.
inline std::string quoted(std::string_view text) {
    std::string out;
    detail::append_quoted(out, text);
    return out;
}

// A view, valid until the function that received it returns. It does by itself what
// narratoria::Event leaves to the library, because a plugin links against nothing.
class Event : public narratoria::Event {
public:
    using narratoria::Event::Event;

    // The name of the kind in JSON, for example "tool_event"; "unknown" for kinds of later
    // versions.
    std::string_view kind_name() const noexcept {
        const std::size_t number = raw().kind;
        return detail::kKindNames[number < std::size(detail::kKindNames) ? number : 0];
    }

    // Appends the whole record (abi/schemas/event-record-1.schema.json) to `out`: one line of JSON
    // without a newline.
    void append_json(std::string& out) const {
        const auto text_or_null = [&out](std::string_view text) {
            if (text.empty()) out += "null";
            else detail::append_quoted(out, text);
        };
        out += "{\"seq\":";
        detail::append_number(out, seq());
        out += ",\"time\":\"";
        detail::append_time(out, time());
        out += "\",\"sessionId\":";
        detail::append_quoted(out, session_id());
        out += ",\"planId\":";
        text_or_null(plan_id());
        out += ",\"toolId\":";
        text_or_null(tool_id());
        out += ",\"attempt\":";
        if (attempt() == 0) out += "null";
        else detail::append_number(out, attempt());
        out += ",\"kind\":\"";
        out += kind_name();
        out += "\",\"event\":";
        out += body();
        out += '}';
    }
    std::string json() const {
        std::string out;
        append_json(out);
        return out;
    }
};

}  // namespace narratoria::plugin
