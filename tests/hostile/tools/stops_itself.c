/* SPDX-License-Identifier: Apache-2.0 */

/* Row: stops itself with SIGSTOP.
 * Must happen: SIGKILL after the grace, on time (a stopped process does not notice SIGTERM).
 *
 * done     writes `done` before, default false
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
