/* SPDX-License-Identifier: Apache-2.0 */

/* Row: closes stdin at once (EPIPE).
 * Expected: no SIGPIPE, no deadlock; unread input is not a failure; `done` decides.
 *
 * Parameters come only from the environment.
 * BAD_SOCKET  witness "tool", connected when standard input is closed; waits for a byte before
 *             `done` */

#include "bad.h"

int main(void) {
    (void)close(STDIN_FILENO);
    bad_begin_without_input();
    const int witness = bad_connect("tool");
    bad_log("standard input is closed");
    bad_await(witness);
    bad_done(true);
    return 0;
}
