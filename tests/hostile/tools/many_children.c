/* SPDX-License-Identifier: Apache-2.0 */

/* Row: starts 200 children and exits.
 * Expected: all are gone when the invocation ends; a limit on processes (pids.max) holds.
 *
 * count    children, default 200
 * stay     the tool does not exit but serves as well, default false
 * socket   witnesses "tool" and, for each child, "child"
 * It logs {"started": N, "error": "EAGAIN" or ""}; if not all could be started, an error event
 * TOO_MANY_PROCESSES and `done` with ok false follow. */

#include "bad.h"

int main(void) {
    bad_begin();
    const size_t count = bad_number("count", 200);
    const int witness = bad_connect("tool");
    size_t started = 0;
    int trouble = 0;
    while (started < count && trouble == 0) {
        if (bad_fork_serving("child", witness, NULL) < 0) {
            trouble = errno;
        } else {
            ++started;
        }
    }
    bad_print(
        "{\"version\":\"0\",\"type\":\"log\",\"level\":\"info\",\"message\":\"children\","
        "\"fields\":{\"started\":%zu,\"error\":\"%s\"}}\n",
        started, bad_errno_name(trouble));
    if (trouble != 0) {
        bad_error("TOO_MANY_PROCESSES", strerror(trouble));
    }
    bad_done(trouble == 0);
    if (bad_flag("stay", false)) {
        bad_serve(witness, "tool");
    }
    return 0;
}
