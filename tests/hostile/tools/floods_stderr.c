/* SPDX-License-Identifier: Apache-2.0 */

/* Row: fills stderr with 10 MB, in numbered lines of 32 bytes and a last line, before its first event.
 * Expected: no deadlock; the last 64 KiB are kept.
 *
 * size     bytes, default 10485760 */

#include "bad.h"

int main(void) {
    bad_begin();
    const size_t size = bad_number("size", 10485760);
    char block[8192];
    for (size_t written = 0; written < size;) {
        for (size_t index = 0; index < sizeof block; index += 32) {
            char line[33];
            (void)snprintf(line, sizeof line, "diagnostics line %014zu\n",
                           (written + index) / 32 % 100000000000000U);
            memcpy(block + index, line, 32);
        }
        const size_t part = size - written < sizeof block ? size - written : sizeof block;
        if (!bad_write(STDERR_FILENO, block, part)) {
            break;
        }
        written += part;
    }
    static const char last[] = "the last line of standard error\n";
    (void)bad_write(STDERR_FILENO, last, sizeof last - 1);
    bad_log("standard error was full");
    bad_done(true);
    return 0;
}
