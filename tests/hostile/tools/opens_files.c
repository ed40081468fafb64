/* SPDX-License-Identifier: Apache-2.0 */

/* Row: opens 10,000 files.
 * Expected: RLIMIT_NOFILE holds if it is set, and the host is not affected.
 *
 * count    files, default 10000
 * socket   witness "tool"; with all files open the tool waits for a byte
 * It logs {"opened": N, "error": "EMFILE" or ""}; if not all could be opened, an error event
 * TOO_MANY_FILES and `done` with ok false follow. */

#include "bad.h"

int main(void) {
    bad_begin();
    const size_t count = bad_number("count", 10000);
    const int witness = bad_connect("tool");
    size_t opened = 0;
    int trouble = 0;
    while (opened < count && trouble == 0) {
        if (open("/dev/null", O_RDONLY) < 0) {
            trouble = errno;
        } else {
            ++opened;
        }
    }
    bad_print(
        "{\"version\":\"0\",\"type\":\"log\",\"level\":\"info\",\"message\":\"files\","
        "\"fields\":{\"opened\":%zu,\"error\":\"%s\"}}\n",
        opened, bad_errno_name(trouble));
    bad_await(witness);
    if (trouble != 0) {
        bad_error("TOO_MANY_FILES", strerror(trouble));
    }
    bad_done(trouble == 0);
    return 0;
}
