/* SPDX-License-Identifier: Apache-2.0 */

/* Row: a line exactly at the limit, one byte over, 100 MB without a newline.
 * Expected: accepted; protocol error; protocol error in bounded memory.
 *
 * size     bytes of the line without its newline, default 8388608; at least 100. The line is a
 *          valid log event
 * newline  whether it ends with a newline, and `done` follows, default true */

#include "bad.h"

int main(void) {
    bad_begin();
    const size_t size = bad_number("size", 8388608);
    const bool newline = bad_flag("newline", true);
    static const char begin[] =
        "{\"version\":\"0\",\"type\":\"log\",\"level\":\"info\",\"message\":\"";
    static const char end[] = "\"}";
    const size_t frame = sizeof begin - 1 + sizeof end - 1;
    if (size < 100) {
        bad_die(BAD_PARAMETER, "the parameter size must be at least 100");
    }
    static char block[65536];
    memset(block, 'x', sizeof block);
    bool open = bad_write(STDOUT_FILENO, begin, sizeof begin - 1);
    for (size_t left = size - frame; open && left > 0;) {
        const size_t part = left < sizeof block ? left : sizeof block;
        open = bad_write(STDOUT_FILENO, block, part);
        left -= part;
    }
    if (open && bad_write(STDOUT_FILENO, end, sizeof end - 1) && newline) {
        bad_print("\n");
        bad_done(true);
    }
    return 0;
}
