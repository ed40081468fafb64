/* SPDX-License-Identifier: Apache-2.0 */

/* Row: closes stdin at once (EPIPE).
 * Expected: no SIGPIPE, no deadlock; unread input is not a failure; `done` decides. */

#include "bad.h"

int main(void) {
    (void)close(STDIN_FILENO);
    bad_begin_without_input();
    bad_log("standard input is closed");
    bad_done(true);
    return 0;
}
