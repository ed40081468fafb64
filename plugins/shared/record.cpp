// SPDX-License-Identifier: Apache-2.0
#include "shared/record.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <string_view>

namespace narratoria::plugins {
namespace {

// By their numbers; what comes later is kind_<number>.
constexpr std::array<std::string_view, 18> kKinds = {
    "",
    "tool_event",
    "prompt",
    "narrative",
    "plan_started",
    "plan_ended",
    "tool_pending",
    "tool_started",
    "tool_ended",
    "attempt_started",
    "attempt_ended",
    "asset_refused",
    "state_conflict",
    "warning",
    "ui_placeholder",
    "asset_placeholder",
    "turn_ended",
    "state_patched",
};

void append_number(std::string& out, std::uint64_t number) {
    char digits[24];
    out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

void append_text(std::string& out, std::string_view text) {
    const bool is_plain = std::all_of(text.begin(), text.end(), [](char letter) {
        return static_cast<unsigned char>(letter) >= 0x20 && letter != '"' && letter != '\\';
    });
    if (!is_plain) {
        out += plugin::quoted(text);
        return;
    }
    out += '"';
    out += text;
    out += '"';
}

void append_text_or_null(std::string& out, std::string_view text) {
    if (text.empty()) out += "null";
    else append_text(out, text);
}

void append_body(std::string& out, std::string_view body) {
    if (body.empty()) body = "{}";
    const std::size_t begin = out.size();
    out += body;
    // Raw ends of lines are white space in JSON, and would be the end of a record here.
    for (const char end_of_line : {'\n', '\r'}) {
        for (std::size_t at = out.find(end_of_line, begin); at != std::string::npos;
             at = out.find(end_of_line, at + 1)) {
            out[at] = ' ';
        }
    }
}

}  // namespace

void RecordWriter::append_time(std::string& out, std::int64_t microseconds) {
    // Rounded down, also before the epoch.
    const std::int64_t fraction = (microseconds % 1000000 + 1000000) % 1000000;
    const std::int64_t second = (microseconds - fraction) / 1000000;
    if (second != second_ || second_text_.empty()) {
        const auto seconds = static_cast<std::time_t>(second);
        std::tm parts{};
        ::gmtime_r(&seconds, &parts);
        char text[80];
        std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.", parts.tm_year + 1900,
                      parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
        second_text_ = text;
        second_ = second;
    }
    out += '"';
    out += second_text_;
    char digits[6];
    auto rest = static_cast<unsigned>(fraction);
    for (std::size_t at = sizeof digits; at-- > 0; rest /= 10) {
        digits[at] = static_cast<char>('0' + rest % 10);
    }
    out.append(digits, sizeof digits);
    out += "Z\"";
}

void RecordWriter::append(std::string& out, const plugin::Event& event) {
    const std::size_t begin = out.size();
    try {
        out += "{\"seq\":";
        append_number(out, event.seq());
        out += ",\"time\":";
        append_time(out, event.raw().time_us);
        out += ",\"sessionId\":";
        append_text(out, event.session_id());
        out += ",\"planId\":";
        append_text_or_null(out, event.plan_id());
        out += ",\"toolId\":";
        append_text_or_null(out, event.tool_id());
        out += ",\"attempt\":";
        if (event.attempt() == 0) out += "null";
        else append_number(out, event.attempt());
        out += ",\"kind\":\"";
        const std::uint32_t kind = event.raw().kind;
        if (kind > 0 && kind < kKinds.size()) {
            out += kKinds[kind];
        } else {
            out += "kind_";
            append_number(out, kind);
        }
        out += "\",\"event\":";
        append_body(out, event.body());
        out += "}\n";
    } catch (...) {
        out.resize(begin);
        throw;
    }
}

}  // namespace narratoria::plugins
