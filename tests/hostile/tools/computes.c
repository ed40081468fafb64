/* SPDX-License-Identifier: Apache-2.0 */

/* Row: computes forever.
 * Expected: RLIMIT_CPU holds and the error names it (SIGXCPU); without a limit the attempt's
 * timeout ends it.
 *
 * seconds    of processor time after which it stops and succeeds, default 60; 0: forever
 * stubborn   ignores SIGXCPU and SIGTERM, default false
 * socket     witness "tool"; it never reads commands */

#include "bad.h"

#include <time.h>

int main(void) {
    bad_begin();
    const size_t seconds = bad_number("seconds", 60);
    if (bad_flag("stubborn", false)) {
        bad_ignore_endings();
        (void)signal(SIGXCPU, SIG_IGN);
    }
    (void)bad_connect("tool");
    bad_log("computing");
    volatile uint64_t number = 1;
    for (;;) {
        for (size_t step = 0; step < 10000000; ++step) {
            number = number * 6364136223846793005U + 1442695040888963407U;
        }
        struct timespec used;
        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
        if (seconds != 0 && (size_t)used.tv_sec >= seconds) {
            bad_log("no limit stopped the computation");
            bad_done(true);
            return 0;
        }
    }
}
