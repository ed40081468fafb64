// SPDX-License-Identifier: Apache-2.0
#include "base/clock.hpp"

#include <cstdio>
#include <ctime>

namespace narratoria::clock {

int64_t wall_us() {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    return int64_t{now.tv_sec} * 1000000 + now.tv_nsec / 1000;
}

int64_t steady_ms() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
}

std::string to_iso8601(int64_t wall_us) {
    // Rounded down, also before the epoch.
    const int64_t microseconds = (wall_us % 1000000 + 1000000) % 1000000;
    const time_t seconds = (wall_us - microseconds) / 1000000;
    tm parts{};
    gmtime_r(&seconds, &parts);
    char text[64];
    std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ", parts.tm_year + 1900,
                  parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                  static_cast<int>(microseconds));
    return text;
}

namespace {

// Takes exactly kCount digits and their value, or nothing. Every event has a time: the loop is
// unrolled.
template <size_t kCount>
[[gnu::always_inline]] inline bool digits(std::string_view& text, int low, int high,
                                          int* out = nullptr) {
    if (text.size() < kCount) return false;
    int value = 0;
    for (size_t i = 0; i < kCount; ++i) {
        const unsigned digit = static_cast<unsigned char>(text[i]) - unsigned{'0'};
        if (digit > 9) return false;
        value = value * 10 + static_cast<int>(digit);
    }
    if (value < low || value > high) return false;
    text.remove_prefix(kCount);
    if (out) *out = value;
    return true;
}

bool take(std::string_view& text, char c) {
    if (text.empty() || text.front() != c) return false;
    text.remove_prefix(1);
    return true;
}

int days_in(int year, int month) {
    static const int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return kDays[month - 1] + (month == 2 && leap);
}

}  // namespace

bool is_iso8601(std::string_view text) {
    int year = 0, month = 0, day = 0;
    if (!digits<4>(text, 0, 9999, &year)) return false;
    // The extended form has its separators everywhere, the basic one nowhere.
    const bool extended = take(text, '-');
    if (!digits<2>(text, 1, 12, &month)) return false;
    if (extended && !take(text, '-')) return false;
    if (!digits<2>(text, 1, 31, &day) || day > days_in(year, month)) return false;
    if (!take(text, 'T') && !take(text, 't') && !take(text, ' ')) return false;
    // Hour 24 is the midnight at the end of a day and nothing behind it.
    int hour = 0;
    if (!digits<2>(text, 0, 24, &hour)) return false;
    const bool midnight = hour == 24;
    if (extended && !take(text, ':')) return false;
    if (!digits<2>(text, 0, midnight ? 0 : 59)) return false;
    const bool has_seconds =
        extended ? take(text, ':') : !text.empty() && text[0] >= '0' && text[0] <= '9';
    if (has_seconds && !digits<2>(text, 0, midnight ? 0 : 60)) return false;
    if (has_seconds && (take(text, '.') || take(text, ','))) {
        const int highest = midnight ? 0 : 9;
        if (!digits<1>(text, 0, highest)) return false;
        while (digits<1>(text, 0, highest)) {
        }
    }
    if (text.empty() || take(text, 'Z') || take(text, 'z')) return text.empty();
    if (!take(text, '+') && !take(text, '-')) return false;
    if (!digits<2>(text, 0, 23)) return false;
    if (text.empty()) return true;
    const bool colon = take(text, ':');
    (void)colon;
    return digits<2>(text, 0, 59) && text.empty();
}

}  // namespace narratoria::clock
