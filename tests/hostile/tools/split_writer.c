/* SPDX-License-Identifier: Apache-2.0 */

/* Row: splits a line at any byte, writes many lines at once, ends without a newline.
 * Expected: the same events as if each line were written whole.
 *
 * chunk    bytes in one write, default 1; 0: everything in one write
 * at       instead of chunk: two writes, split before this byte
 * lines    log events between the first and the last one, default 3
 * newline  whether the last line ends with a newline, default true
 * crlf     whether lines end with \r\n, default false
 * socket   the test sends a byte before each write except the first, so no two are in the pipe
 *          together */

#include "bad.h"

#include <sched.h>

int main(void) {
    bad_begin();
    const size_t lines = bad_number("lines", 3);
    const bool newline = bad_flag("newline", true);
    const char *const end = bad_flag("crlf", false) ? "\r\n" : "\n";
    const int witness = bad_connect("tool");

    char *text = NULL;
    size_t size = 0;
    FILE *const stream = open_memstream(&text, &size);
    if (stream == NULL) {
        bad_die(BAD_TROUBLE, "no memory");
    }
    /* Characters of two, three and four bytes, an escaped quote and a surrogate pair: the
     * critical places for a split. */
    fprintf(stream,
            "{\"version\":\"0\",\"type\":\"log\",\"level\":\"info\","
            "\"message\":\"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x94\xA5 \\\" \\\\ \\ud83d\\udd25\"}%s",
            end);
    for (size_t line = 1; line <= lines; ++line) {
        fprintf(
            stream,
            "{\"version\":\"0\",\"type\":\"log\",\"level\":\"debug\",\"message\":\"line %zu\"}%s",
            line, end);
    }
    fprintf(stream,
            "{\"version\":\"0\",\"type\":\"state_patch\","
            "\"patch\":{\"split\":{\"text\":\"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x94\xA5\"}}}%s",
            end);
    fprintf(stream, "{\"version\":\"0\",\"type\":\"done\",\"ok\":true,\"summary\":\"Split.\"}%s",
            newline ? end : "");
    if (fclose(stream) != 0) {
        bad_die(BAD_TROUBLE, "no memory");
    }

    size_t chunk = bad_number("chunk", 1);
    chunk = chunk == 0 ? size : chunk;
    const size_t split = bad_number("at", 0);
    for (size_t at = 0; at < size;) {
        size_t next = split == 0 ? chunk : at == 0 ? split : size;
        next = next < size - at ? next : size - at;
        if (at > 0) {
            bad_await(witness);
            (void)sched_yield();
        }
        if (!bad_write(STDOUT_FILENO, text + at, next)) {
            return BAD_TROUBLE;
        }
        at += next;
    }
    free(text);
    return 0;
}
