/* SPDX-License-Identifier: Apache-2.0 */

/* Row: dies by a signal in the middle of a line.
 * Expected: failed with SIGNALED, which names the signal; earlier events are kept in the trace, the
 * incomplete line is not an event.
 *
 * signal   its number, default 11 (SIGSEGV)
 * done     dies after a complete `done` instead of in the middle of a line, default false */

#include "bad.h"

int main(void) {
    bad_begin();
    bad_log("before the end");
    bad_print("{\"version\":\"0\",\"type\":\"state_patch\",\"patch\":{\"came\":\"before\"}}\n");
    if (bad_flag("done", false)) {
        bad_done(true);
    } else {
        bad_print("{\"version\":\"0\",\"type\":\"log\",\"level\":\"info\",\"mess");
    }
    const int number = (int)bad_number("signal", SIGSEGV);
    (void)signal(number, SIG_DFL);
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)raise(number);
    bad_die(BAD_PARAMETER, "signal %d does not end the process", number);
}
