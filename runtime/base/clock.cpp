// SPDX-License-Identifier: Apache-2.0
#include "base/clock.hpp"

#include <ctime>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "narratoria/record.h"

namespace narratoria::clock {

int64_t wall_us() {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    return int64_t{now.tv_sec} * 1000000 + now.tv_nsec / 1000;
}

int64_t steady_us() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return int64_t{now.tv_sec} * 1000000 + now.tv_nsec / 1000;
}

int64_t steady_ms() { return steady_us() / 1000; }

std::string to_iso8601(int64_t wall_us) {
    char text[32];
    return {text, nar_record_write_time(wall_us, text)};
}

namespace {

// Takes exactly kCount digits, or returns false. Inlined so that the loop is unrolled: every event
// has a timestamp.
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

bool is_digit(std::string_view text, size_t at) {
    return at < text.size() && text[at] >= '0' && text[at] <= '9';
}

bool is_leap(int year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

int days_in(int year, int month) {
    static constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return kDays[month - 1] + (month == 2 && is_leap(year));
}

// 53 in years that begin on a Thursday and in leap years that begin on a Wednesday; otherwise 52.
int weeks_in(int year) {
    // the previous year plus 400 years, which are a whole number of weeks
    const int last = year + 399;
    const int first_weekday = (last + last / 4 - last / 100 + last / 400 + 1) % 7;  // 0: Sunday
    return first_weekday == 4 || (is_leap(year) && first_weekday == 3) ? 53 : 52;
}

// Takes a complete date: calendar (2026-01-24), week (2026-W04-6) or ordinal (2026-024). Sets
// `extended` if it has separators.
bool take_date(std::string_view& text, bool& extended) {
    int year = 0, month = 0, day = 0, week = 0;
    if (!digits<4>(text, 0, 9999, &year)) return false;
    extended = take(text, '-');
    if (take(text, 'W')) {
        return digits<2>(text, 1, 53, &week) && week <= weeks_in(year) &&
               (!extended || take(text, '-')) && digits<1>(text, 1, 7);
    }
    // A calendar date has a second separator or a fourth digit; otherwise the date is ordinal.
    if (extended ? is_digit(text, 2) : !is_digit(text, 3)) {
        return digits<3>(text, 1, 365 + is_leap(year));
    }
    return digits<2>(text, 1, 12, &month) && (!extended || take(text, '-')) &&
           digits<2>(text, 1, 31, &day) && day <= days_in(year, month);
}

// Takes hours, minutes and seconds. Minutes and seconds are optional, and the last part may have a
// fraction.
bool take_time(std::string_view& text, bool extended) {
    int hour = 0;
    if (!digits<2>(text, 0, 24, &hour)) return false;
    // Hour 24 is valid only as the midnight at the end of a day: 24:00:00.
    const bool midnight = hour == 24;
    auto follows = [&] { return extended ? take(text, ':') : is_digit(text, 0); };
    if (follows()) {
        if (!digits<2>(text, 0, midnight ? 0 : 59)) return false;
        if (follows() && !digits<2>(text, 0, midnight ? 0 : 60)) return false;
    }
    if (take(text, '.') || take(text, ',')) {
        const int highest = midnight ? 0 : 9;
        if (!digits<1>(text, 0, highest)) return false;
        while (digits<1>(text, 0, highest)) {
        }
    }
    return true;
}

// True for an empty text (local time), Z, or hours and optional minutes from UTC. The offset may be
// in basic format after an extended time, as strftime's %z writes it.
bool is_offset(std::string_view text) {
    if (text.empty() || text == "Z" || text == "z") return true;
    if (!take(text, '+') && !take(text, '-')) return false;
    if (!digits<2>(text, 0, 23)) return false;
    if (text.empty()) return true;
    if (text.front() == ':') text.remove_prefix(1);
    return digits<2>(text, 0, 59) && text.empty();
}

// Recognizes the most common form: YYYY-MM-DDThh:mm:ss, an optional fraction, Z. Compares the first
// 16 bytes at once with the lowest and highest byte of each position. False means undecided:
// is_iso8601() then parses the text in detail.
bool is_common_form(std::string_view text) {
#if defined(__SSE2__)
    constexpr size_t kSeconds = 17, kFraction = 19;
    if (text.size() <= kFraction) return false;
    auto load = [](const char* at) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    };
    const __m128i bytes = load(text.data());
    const __m128i in_range = _mm_max_epu8(_mm_min_epu8(bytes, load("9999-19-29T29:59")),  //
                                          load("0000-00-00T00:00"));
    if (_mm_movemask_epi8(_mm_cmpeq_epi8(in_range, bytes)) != 0xFFFF) return false;
    auto two = [&](size_t at) { return (text[at] - '0') * 10 + (text[at + 1] - '0'); };
    const int month = two(5), day = two(8);
    // Days above 28 depend on the month and are left to the detailed parser.
    if (month < 1 || month > 12 || day < 1 || day > 28 || two(11) > 23) return false;
    if (text[kSeconds - 1] != ':' || !is_digit(text, kSeconds) || text[kSeconds] > '5')
        return false;
    if (!is_digit(text, kSeconds + 1)) return false;
    size_t at = kFraction;
    if (text[at] == '.') {
        if (!is_digit(text, ++at)) return false;
        while (is_digit(text, at)) ++at;
    }
    return at + 1 == text.size() && text[at] == 'Z';
#else
    (void)text;
    return false;
#endif
}

}  // namespace

bool is_iso8601(std::string_view text) {
    if (is_common_form(text)) return true;
    bool extended = false;
    return take_date(text, extended) && (take(text, 'T') || take(text, 't')) &&
           take_time(text, extended) && is_offset(text);
}

}  // namespace narratoria::clock
