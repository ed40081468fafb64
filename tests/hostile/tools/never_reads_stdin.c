/* SPDX-License-Identifier: Apache-2.0 */

/* Row: never reads stdin while the input is 10 MB.
 * Expected: no deadlock: its output, more than a pipe's buffer, is read while its input is
 * blocked; no SIGPIPE in the host when it exits; `done` decides.
 *
 * Parameters come only from the environment.
 * BAD_COUNT   log events of about 1 KiB, default 1024
 * BAD_SOCKET  witness "tool"; before `done` it waits for a byte, its input unread */

#include "bad.h"

int main(void) {
    bad_begin_without_input();
    const int witness = bad_connect("tool");
    char filling[1001];
    memset(filling, 'x', sizeof filling - 1);
    filling[sizeof filling - 1] = '\0';
    for (size_t count = bad_number("count", 1024); count > 0; --count) {
        bad_log(filling);
    }
    bad_await(witness);
    bad_done(true);
    return 0;
}
