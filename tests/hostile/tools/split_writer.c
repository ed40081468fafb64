/* SPDX-License-Identifier: Apache-2.0 */

/* Row: splits a line at any byte, writes many lines at once, ends without a newline.
 * Expected: the same events as if each line were written whole.
 *
 * chunk    bytes in one write, default 1; 0: everything in one write
 * newline  whether the last line ends with a newline, default true
 * crlf     whether lines end with \r\n, default false */

#include "bad.h"

#include <sched.h>

int main(void) {
    bad_begin();
    const bool newline = bad_flag("newline", true);
    const char *const end = bad_flag("crlf", false) ? "\r\n" : "\n";

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
    for (size_t line = 1; line <= 3; ++line) {
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
    for (size_t at = 0; at < size;) {
        const size_t next = chunk < size - at ? chunk : size - at;
        if (at > 0) {
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
