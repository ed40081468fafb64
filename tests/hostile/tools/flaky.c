/* SPDX-License-Identifier: Apache-2.0 */

/* For retries: fails the first N attempts, then succeeds.
 * Expected: each failed attempt is in the trace with its own record; the last attempt decides.
 *
 * counter   path of a file that each attempt extends by one byte; the test deletes it
 * failures  number of attempts that fail, default 1
 * how       "done" (default): `done` with ok false; "exit": exit status 1; "signal": SIGKILL;
 *           "line": a line that is not JSON; "missing": exit 0 without `done`
 * Every attempt patches {"flaky":{"attempt":N}} and logs "attempt N". */

#include "bad.h"

#include <sys/stat.h>

int main(void) {
    bad_begin();
    const char *const counter = bad_text("counter", NULL);
    const size_t failures = bad_number("failures", 1);
    const char *const how = bad_text("how", "done");
    const int file = counter == NULL ? -1 : open(counter, O_WRONLY | O_CREAT | O_APPEND, 0600);
    struct stat facts;
    if (file < 0 || !bad_write(file, ".", 1) || fstat(file, &facts) != 0) {
        bad_die(BAD_PARAMETER, "the parameter counter must be the path of a file");
    }
    const size_t attempt = (size_t)facts.st_size;
    bad_print(
        "{\"version\":\"0\",\"type\":\"log\",\"level\":\"info\",\"message\":\"attempt %zu\"}\n",
        attempt);
    bad_print(
        "{\"version\":\"0\",\"type\":\"state_patch\",\"patch\":{\"flaky\":{\"attempt\":%zu}}}\n",
        attempt);
    if (attempt > failures) {
        bad_done(true);
    } else if (strcmp(how, "done") == 0) {
        bad_error("FLAKY", "this attempt fails");
        bad_done(false);
    } else if (strcmp(how, "exit") == 0) {
        return 1;
    } else if (strcmp(how, "signal") == 0) {
        (void)raise(SIGKILL);
    } else if (strcmp(how, "line") == 0) {
        bad_print("this is not JSON\n");
    } else if (strcmp(how, "missing") != 0) {
        bad_die(BAD_PARAMETER, "the parameter how is not known: %s", how);
    }
    return 0;
}
