/* SPDX-License-Identifier: Apache-2.0 */

/* Row: leaves a chain of processes, of which each forks the next one and exits at once: whoever
 * looks for them finds one that has gone already.
 * Must happen: it is gone when the invocation ends.
 *
 * own_session   each of the chain has a session of its own, default false */

#include "bad.h"

#include <time.h>

int main(void) {
    bad_begin();
    const bool own_session = bad_flag("own_session", false);
    bad_log("a chain was left behind");
    bad_done(true);
    (void)fflush(stdout);
    if (fork() != 0) {
        return 0;
    }
    const time_t began = time(NULL);
    while (time(NULL) - began < BAD_LAST_RESORT) {
        const pid_t next = fork();
        if (next > 0) {
            _exit(0);
        }
        if (next == 0 && own_session) {
            (void)setsid();
        }
    }
    return 0;
}
