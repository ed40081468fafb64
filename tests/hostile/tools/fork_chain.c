/* SPDX-License-Identifier: Apache-2.0 */

/* Row: leaves a chain of processes, of which each forks the next one and exits at once: whoever
 * looks for them finds one that has gone already.
 * Must happen: it is gone when the invocation ends.
 *
 * own_session   each of the chain has a session of its own, default false
 * generations   how long the chain is, default 0: without end */

#include "bad.h"

#include <time.h>

int main(void) {
    bad_begin();
    const bool own_session = bad_flag("own_session", false);
    const size_t generations = bad_number("generations", 0);
    bad_log("a chain was left behind");
    bad_done(true);
    (void)fflush(stdout);
    if (fork() != 0) {
        return 0;
    }
    const time_t began = time(NULL);
    for (size_t index = 0; time(NULL) - began < BAD_LAST_RESORT; ++index) {
        if (generations > 0 && index == generations) {
            return 0;
        }
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
