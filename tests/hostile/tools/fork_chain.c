/* SPDX-License-Identifier: Apache-2.0 */

/* Row: leaves chains of processes, each of which forks the next and exits a moment later. A search
 * for them finds processes that have already exited, and deaths are reported continuously.
 * Expected: the chains are gone when the invocation ends.
 *
 * own_session   each process has its own session, default false
 * chains        how many, default 1
 * generations   length of each chain, default 0: endless */

#include "bad.h"

#include <time.h>

int main(void) {
    bad_begin();
    const bool own_session = bad_flag("own_session", false);
    const size_t chains = bad_number("chains", 1);
    const size_t generations = bad_number("generations", 0);
    bad_log("a chain was left behind");
    bad_done(true);
    (void)fflush(stdout);
    for (size_t chain = 0;; ++chain) {
        if (chain == chains) {
            const struct timespec until_they_run = {0, 50000000};
            (void)nanosleep(&until_they_run, NULL);
            return 0;
        }
        if (fork() == 0) {
            break;
        }
    }
    const time_t began = time(NULL);
    for (size_t index = 0; time(NULL) - began < BAD_LAST_RESORT; ++index) {
        if (generations > 0 && index == generations) {
            return 0;
        }
        const pid_t next = fork();
        if (next > 0) {
            const struct timespec moment = {0, 1000000};
            (void)nanosleep(&moment, NULL);
            _exit(0);
        }
        if (next == 0 && own_session) {
            (void)setsid();
        }
    }
    return 0;
}
