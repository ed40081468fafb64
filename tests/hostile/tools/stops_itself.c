/* SPDX-License-Identifier: Apache-2.0 */

/* Row: stops itself with SIGSTOP.
 * Expected: SIGKILL right after the grace period (a stopped process does not handle SIGTERM).
 *
 * done     writes `done` first, default false
 * socket   witness "tool"; it does not answer while it is stopped */

#include "bad.h"

int main(void) {
    bad_begin();
    const int witness = bad_connect("tool");
    bad_log("stopping");
    if (bad_flag("done", false)) {
        bad_done(true);
    }
    (void)raise(SIGSTOP);
    bad_serve(witness, "tool");
}
