/* SPDX-License-Identifier: Apache-2.0 */

/* Row: forks a child that keeps stdout open and outlives it.
 * Expected: the runtime waits for the exit and a short drain, never for the pipe; the child is gone
 * when the invocation ends.
 *
 * done      whether `done` is written, default true
 * stubborn  the child ignores SIGTERM and similar signals, default false
 * stay      the tool does not exit but serves as well, default false
 * socket    witnesses "child" and "tool"; `w` to the child writes into the tool's stdout */

#include "bad.h"

int main(void) {
    bad_begin();
    const int witness = bad_connect("tool");
    void (*const prepare)(void) = bad_flag("stubborn", false) ? bad_ignore_endings : NULL;
    if (bad_fork_serving("child", witness, prepare) < 0) {
        bad_die(BAD_TROUBLE, "no child could be started: %s", strerror(errno));
    }
    bad_log("a child was left behind");
    if (bad_flag("done", true)) {
        bad_done(true);
    }
    if (bad_flag("stay", false)) {
        bad_serve(witness, "tool");
    }
    return 0;
}
