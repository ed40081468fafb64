/* SPDX-License-Identifier: Apache-2.0 */

/* Row: a daemon (double fork, setsid).
 * Expected: it is gone when the invocation ends, although it has its own session and is no longer
 * the tool's child.
 *
 * done      whether `done` is written, default true
 * detached  the daemon redirects stdin, stdout and stderr to /dev/null and changes to /, default
 *           true
 * stubborn  it ignores SIGTERM and similar signals, default true
 * stay      the tool does not exit but serves as well, default false
 * socket    witnesses "daemon" and "tool" */

#include "bad.h"

static void become_daemon(void) {
    if (bad_flag("stubborn", true)) {
        bad_ignore_endings();
    }
    if (bad_flag("detached", true)) {
        const int nothing = open("/dev/null", O_RDWR);
        if (nothing < 0 || chdir("/") != 0) {
            bad_die(BAD_TROUBLE, "the daemon cannot detach: %s", strerror(errno));
        }
        (void)dup2(nothing, STDIN_FILENO);
        (void)dup2(nothing, STDOUT_FILENO);
        (void)dup2(nothing, STDERR_FILENO);
        (void)close(nothing);
    }
}

int main(void) {
    bad_begin();
    const int witness = bad_connect("tool");
    const pid_t between = fork();
    if (between == 0) {
        if (witness >= 0) {
            (void)close(witness);
        }
        _exit(setsid() > 0 && bad_fork_serving("daemon", -1, become_daemon) > 0 ? 0 : BAD_TROUBLE);
    }
    int status = -1;
    if (between < 0 || waitpid(between, &status, 0) != between || status != 0) {
        bad_die(BAD_TROUBLE, "no daemon could be started");
    }
    bad_log("a daemon was left behind");
    if (bad_flag("done", true)) {
        bad_done(true);
    }
    if (bad_flag("stay", false)) {
        bad_serve(witness, "tool");
    }
    return 0;
}
