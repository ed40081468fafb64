/* SPDX-License-Identifier: Apache-2.0 */

/* Row: ignores SIGTERM.
 * Expected: SIGKILL right after the grace period.
 *
 * on_term  "ignore" (default): SIGTERM only notifies the test, similar signals do nothing;
 *          "done": it cleans up, writes `done` with ok false and exits with 0
 * done     writes `done` at once, default false
 * socket   witness "tool"; when SIGTERM comes it sends "T" */

#include "bad.h"

static int witness = -1;
static bool polite;

static void on_term(int number) {
    (void)number;
    static const char done[] = "{\"version\":\"0\",\"type\":\"done\",\"ok\":false}\n";
    const int before = errno;
    if (witness >= 0) {
        (void)send(witness, "T", 1, MSG_NOSIGNAL);
    }
    if (polite) {
        (void)bad_write(STDOUT_FILENO, done, sizeof done - 1);
        _exit(0);
    }
    errno = before;
}

int main(void) {
    bad_begin();
    polite = strcmp(bad_text("on_term", "ignore"), "done") == 0;
    bad_ignore_endings();
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_term;
    (void)sigaction(SIGTERM, &action, NULL);
    /* Blocked until the handler has the witness: a test that is connected will get the "T". */
    sigset_t term;
    (void)sigemptyset(&term);
    (void)sigaddset(&term, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &term, NULL);
    witness = bad_connect("tool");
    (void)sigprocmask(SIG_UNBLOCK, &term, NULL);
    bad_log("SIGTERM will not end this");
    if (bad_flag("done", false)) {
        bad_done(true);
    }
    bad_serve(witness, "tool");
}
