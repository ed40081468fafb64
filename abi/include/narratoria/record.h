/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_RECORD_H
#define NARRATORIA_RECORD_H
/*
 * Writes a record of the event stream as JSON, for code that does not link the library, such as a
 * plugin. The functions are compiled into their caller. The library writes records with them too,
 * so nar_event_to_json returns the same bytes. They do not allocate, fail or keep state.
 * [thread-safe]
 *
 *   char *line = malloc(nar_record_room(event));
 *   const char *end = nar_record_write(event, line);
 */
#include "narratoria/event.h"

#include <stddef.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The name of a kind in JSON, for example "tool_event"; NULL for a kind from a later version. */
static inline const char *nar_record_kind(uint32_t kind) {
    static const char *const names[NAR_KIND_NARRATOR_USAGE + 1] = {
        NULL,              "tool_event",         "prompt",         "narrative",
        "plan_started",    "plan_ended",         "tool_pending",   "tool_started",
        "tool_ended",      "attempt_started",    "attempt_ended",  "asset_refused",
        "state_conflict",  "warning",            "ui_placeholder", "asset_placeholder",
        "turn_ended",      "state_patched",      "session_moved",  "story_reloaded",
        "narrative_delta", "narrative_retracted", "narrator_usage"};
    return kind <= NAR_KIND_NARRATOR_USAGE ? names[kind] : NULL;
}

/* A view without data is the empty text, regardless of its size. */
static inline uint64_t nar_record_size(nar_str text) { return text.data == NULL ? 0 : text.size; }

static inline char *nar_record_put(char *out, const char *bytes, size_t size) {
    if (size > 0) memcpy(out, bytes, size);
    return out + size;
}

#define NAR_RECORD_PUT(out, literal) nar_record_put(out, literal, sizeof(literal) - 1)

/* Writes at most 20 bytes, in decimal. Returns the end, as all these functions do. */
static inline char *nar_record_write_number(uint64_t number, char *out) {
    char text[20];
    size_t at = sizeof text;
    do {
        text[--at] = (char)('0' + (int)(number % 10));
        number /= 10;
    } while (number > 0);
    return nar_record_put(out, text + at, sizeof text - at);
}

/* Writes the last two decimal digits of a number and a separator. */
static inline char *nar_record_put_2(char *out, uint32_t number, char separator) {
    out[0] = (char)('0' + (int)(number / 10 % 10));
    out[1] = (char)('0' + (int)(number % 10));
    out[2] = separator;
    return out + 3;
}

/* Writes microseconds since the Unix epoch as 2026-11-21T09:30:00.123456Z, at most 32 bytes. */
static inline char *nar_record_write_time(int64_t time_us, char *out) {
    /* Rounded down, even before the epoch. */
    const int64_t fraction = (time_us % 1000000 + 1000000) % 1000000;
    const int64_t seconds = time_us / 1000000 - (time_us % 1000000 < 0 ? 1 : 0);
    const int64_t of_day = (seconds % 86400 + 86400) % 86400;
    /* Convert days to the Gregorian calendar. Counted from 0000-03-01, a leap day ends a year. */
    const int64_t days = (seconds - of_day) / 86400 + 719468;
    const int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    const int64_t day_of_era = days - era * 146097;
    const int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    const int64_t day_of_year =
        day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const int64_t march_month = (5 * day_of_year + 2) / 153;
    const int64_t month = march_month < 10 ? march_month + 3 : march_month - 9;
    const int64_t day = day_of_year - (153 * march_month + 2) / 5 + 1;
    const int64_t year = year_of_era + era * 400 + (month <= 2 ? 1 : 0);
    const uint32_t second = (uint32_t)of_day, micro = (uint32_t)fraction;
    if (year >= 0 && year <= 9999) {
        out = nar_record_put_2(out, (uint32_t)year / 100, 0) - 1;
        out = nar_record_put_2(out, (uint32_t)year, '-');
    } else {
        if (year < 0) *out++ = '-';
        out = nar_record_write_number((uint64_t)(year < 0 ? -year : year), out);
        *out++ = '-';
    }
    out = nar_record_put_2(out, (uint32_t)month, '-');
    out = nar_record_put_2(out, (uint32_t)day, 'T');
    out = nar_record_put_2(out, second / 3600, ':');
    out = nar_record_put_2(out, second / 60 % 60, ':');
    out = nar_record_put_2(out, second % 60, '.');
    out = nar_record_put_2(out, micro / 10000, 0) - 1;
    out = nar_record_put_2(out, micro / 100, 0) - 1;
    return nar_record_put_2(out, micro, 'Z');
}

/* Counts leading bytes that need no escape, eight at a time. May stop early. */
static inline uint64_t nar_record_plain(const char *text, uint64_t size) {
    const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
    uint64_t at = 0, word;
    for (; size - at >= 8; at += 8) {
        memcpy(&word, text + at, sizeof word);
        /* Sets the high bit of each byte below 0x20 and of each '"', '\\' and 0x7F. ~word excludes
         * bytes above 0x7F. A borrow can only flag additional bytes. */
        if ((((word - ones * 0x20) | ((word ^ ones * '"') - ones) | ((word ^ ones * '\\') - ones) |
              ((word ^ ones * 0x7F) - ones)) &
             ~word & highs) != 0) {
            break;
        }
    }
    return at;
}

/* Writes a text as a JSON string with its quotes: at most 6 * size + 2 bytes. It must be UTF-8,
 * which is not checked. */
static inline char *nar_record_write_text(nar_str text, char *out) {
    static const char digits[] = "0123456789abcdef";
    const uint64_t size = nar_record_size(text);
    uint64_t plain = 0, at;
    *out++ = '"';
    for (at = 0; at < size; ++at) {
        at += nar_record_plain(text.data + at, size - at);
        if (at == size) break;
        const unsigned char byte = (unsigned char)text.data[at];
        char letter = 0;
        if (byte >= 0x20 && byte != '"' && byte != '\\' && byte != 0x7F) continue;
        out = nar_record_put(out, text.data + plain, (size_t)(at - plain));
        plain = at + 1;
        switch (byte) {
            case '"':
            case '\\': letter = (char)byte; break;
            case '\n': letter = 'n'; break;
            case '\r': letter = 'r'; break;
            case '\t': letter = 't'; break;
            case '\b': letter = 'b'; break;
            case '\f': letter = 'f'; break;
            default: break;
        }
        *out++ = '\\';
        if (letter != 0) {
            *out++ = letter;
            continue;
        }
        out = NAR_RECORD_PUT(out, "u00");
        *out++ = digits[byte >> 4];
        *out++ = digits[byte & 15];
    }
    if (size > plain) out = nar_record_put(out, text.data + plain, (size_t)(size - plain));
    *out++ = '"';
    return out;
}

static inline char *nar_record_write_id(nar_str text, char *out) {
    return nar_record_size(text) == 0 ? NAR_RECORD_PUT(out, "null")
                                      : nar_record_write_text(text, out);
}

/* Copies JSON and replaces each line end by a space. A tool may write a carriage return between two
 * values, where JSON permits white space. */
static inline char *nar_record_put_on_one_line(char *out, nar_str json) {
    const size_t size = (size_t)json.size;
    char *const end = nar_record_put(out, json.data, size);
    char *at = out;
    while ((at = (char *)memchr(at, '\r', (size_t)(end - at))) != NULL) *at = ' ';
    at = out;
    while ((at = (char *)memchr(at, '\n', (size_t)(end - at))) != NULL) *at = ' ';
    return end;
}

/* The number of bytes that nar_record_write needs, plus at least one for a newline or a NUL. */
static inline size_t nar_record_room(const nar_event *event) {
    return (size_t)(256 + nar_record_size(event->body) +
                    6 * (nar_record_size(event->session_id) + nar_record_size(event->plan_id) +
                         nar_record_size(event->tool_id)));
}

/* Writes the record (abi/schemas/event-record-1.schema.json) as one line without a newline, and
 * returns its end. `out` must have room for nar_record_room(event) bytes. The body is copied byte
 * for byte, except that line ends between its values become spaces; an empty body becomes {}. A
 * kind from a later version is named by its number: "kind_99". */
static inline char *nar_record_write(const nar_event *event, char *out) {
    const char *const kind = nar_record_kind(event->kind);
    out = NAR_RECORD_PUT(out, "{\"seq\":");
    out = nar_record_write_number(event->seq, out);
    out = NAR_RECORD_PUT(out, ",\"time\":\"");
    out = nar_record_write_time(event->time_us, out);
    out = NAR_RECORD_PUT(out, "\",\"sessionId\":");
    out = nar_record_write_text(event->session_id, out);
    out = NAR_RECORD_PUT(out, ",\"planId\":");
    out = nar_record_write_id(event->plan_id, out);
    out = NAR_RECORD_PUT(out, ",\"toolId\":");
    out = nar_record_write_id(event->tool_id, out);
    out = NAR_RECORD_PUT(out, ",\"attempt\":");
    out = event->attempt == 0 ? NAR_RECORD_PUT(out, "null")
                              : nar_record_write_number(event->attempt, out);
    out = NAR_RECORD_PUT(out, ",\"kind\":\"");
    if (kind != NULL) {
        out = nar_record_put(out, kind, strlen(kind));
    } else {
        out = NAR_RECORD_PUT(out, "kind_");
        out = nar_record_write_number(event->kind, out);
    }
    out = NAR_RECORD_PUT(out, "\",\"event\":");
    out = nar_record_size(event->body) == 0 ? NAR_RECORD_PUT(out, "{}")
                                            : nar_record_put_on_one_line(out, event->body);
    *out++ = '}';
    return out;
}

#undef NAR_RECORD_PUT

#ifdef __cplusplus
}
#endif
#endif
