/* SPDX-License-Identifier: Apache-2.0 */

/* Row: allocates without bound.
 * Expected: RLIMIT_AS or memory.max holds; with memory.max the error names the limit.
 *
 * most     bytes after which it stops and succeeds, default 1073741824: the machine must survive a
 *          runtime whose limit does not hold. 0: without bound
 * socket   witness "tool"
 * Every page is touched. When memory is refused it logs {"allocated": BYTES, "error": "ENOMEM"},
 * then an error event OUT_OF_MEMORY and `done` with ok false. */

#include "bad.h"

int main(void) {
    bad_begin();
    const size_t most = bad_number("most", 1073741824);
    (void)bad_connect("tool");
    bad_log("allocating");
    const size_t block = 1048576;
    size_t allocated = 0;
    while (most == 0 || allocated < most) {
        char *const memory = malloc(block);
        if (memory == NULL) {
            bad_print(
                "{\"version\":\"0\",\"type\":\"log\",\"level\":\"info\",\"message\":\"memory\","
                "\"fields\":{\"allocated\":%zu,\"error\":\"%s\"}}\n",
                allocated, bad_errno_name(ENOMEM));
            bad_error("OUT_OF_MEMORY", "memory was refused");
            bad_done(false);
            return 0;
        }
        for (size_t at = 0; at < block; at += 4096) {
            ((volatile char *)memory)[at] = 1;
        }
        allocated += block;
    }
    bad_log("no limit stopped the allocation");
    bad_done(true);
    return 0;
}
