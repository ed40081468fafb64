/* SPDX-License-Identifier: Apache-2.0 */

/* Row: forks a child that outlives it; here one that looks dead.
 * Expected: the child is gone when the invocation ends. A process whose main thread has exited is
 * shown as a zombie (state Z) while its other threads live.
 *
 * socket    witnesses "hidden" and "tool"; `hidden` has its own session, ignores SIGTERM, and its
 *           main thread has exited. Then the tool writes `done` and exits */

#include "bad.h"

#include <pthread.h>

static int ready[2];

static void *serve(void *unused) {
    (void)unused;
    const int witness = bad_connect("hidden");
    /* Wait until /proc shows that the main thread has exited. */
    for (char state = 0; state != 'Z';) {
        const int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
        char line[512];
        const ssize_t got = file < 0 ? -1 : read(file, line, sizeof line - 1);
        (void)close(file);
        if (got <= 0) {
            bad_die(BAD_TROUBLE, "/proc/self/stat cannot be read: %s", strerror(errno));
        }
        line[got] = '\0';
        const char *const behind_name = strrchr(line, ')');
        state = behind_name == NULL ? 0 : behind_name[2];
    }
    (void)bad_write(ready[1], "r", 1);
    bad_serve(witness, "hidden");
}

int main(void) {
    bad_begin();
    (void)bad_connect("tool");
    if (pipe2(ready, O_CLOEXEC) != 0) {
        bad_die(BAD_TROUBLE, "no pipe: %s", strerror(errno));
    }
    const pid_t child = fork();
    if (child == 0) {
        bad_set_last_resort();
        bad_ignore_endings();
        (void)setsid();
        pthread_t thread;
        if (pthread_create(&thread, NULL, serve, NULL) != 0) {
            _exit(BAD_TROUBLE);
        }
        pthread_exit(NULL);
    }
    (void)close(ready[1]);
    char byte = 0;
    if (child < 0 || read(ready[0], &byte, 1) != 1) {
        bad_die(BAD_TROUBLE, "no child could be started");
    }
    bad_log("a process that looks dead was left behind");
    bad_done(true);
    return 0;
}
