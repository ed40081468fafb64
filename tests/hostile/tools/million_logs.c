/* SPDX-License-Identifier: Apache-2.0 */

/* Row: one million log events as fast as possible.
 * Expected: back-pressure on the pipe, bounded memory, other tools are served fairly.
 *
 * count    log events, default 1000000; their fields are {"n": NUMBER}, from 1
 * batch    many lines in one write, default true; false: one write for each line */

#include "bad.h"

int main(void) {
    bad_begin();
    const size_t count = bad_number("count", 1000000);
    const bool batch = bad_flag("batch", true);
    static char block[65536];
    size_t used = 0;
    for (size_t number = 1; number <= count; ++number) {
        used += (size_t)snprintf(block + used, sizeof block - used,
                                 "{\"version\":\"0\",\"type\":\"log\",\"level\":\"debug\","
                                 "\"message\":\"tick\",\"fields\":{\"n\":%zu}}\n",
                                 number);
        if (!batch || number == count || sizeof block - used < 256) {
            if (!bad_write(STDOUT_FILENO, block, used)) {
                return BAD_TROUBLE;
            }
            used = 0;
        }
    }
    bad_done(true);
    return 0;
}
