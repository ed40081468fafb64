/* SPDX-License-Identifier: Apache-2.0 */

/* Row: closes stdout and keeps working.
 * Expected: the runtime waits for the exit, not for the end of the pipe.
 *
 * done     whether `done` is written before the close, default true
 * stderr   whether standard error is closed as well, default true
 * status   exit status, default 0
 * socket   witness "tool"; the tool works until the test sends a byte */

#include "bad.h"

int main(void) {
    bad_begin();
    const int witness = bad_connect("tool");
    const bool both = bad_flag("stderr", true);
    const int status = (int)bad_number("status", 0);
    bad_log("standard output closes now");
    if (bad_flag("done", true)) {
        bad_done(true);
    }
    (void)close(STDOUT_FILENO);
    if (both) {
        (void)close(STDERR_FILENO);
    }
    bad_await(witness);
    return status;
}
