/* SPDX-License-Identifier: Apache-2.0 */

/* Row: writes without bound.
 * Expected: RLIMIT_FSIZE holds and the error names it (SIGXFSZ).
 *
 * path     the file, created or truncated; default: an unlinked file in TMPDIR
 * most     bytes after which it stops and succeeds, default 268435456; 0: without bound
 * stubborn ignores SIGXFSZ: the write fails, the tool logs {"written": BYTES, "error": "EFBIG"}, then
 *          an error event FILE_TOO_LARGE and `done` with ok false follow; default false
 * socket   witness "tool" */

#include "bad.h"

static int open_nameless(void) {
    const char *const folder = getenv("TMPDIR");
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/writes-file-XXXXXX", folder == NULL ? "/tmp" : folder);
    const int file = mkstemp(path);
    if (file >= 0) {
        (void)unlink(path);
    }
    return file;
}

int main(void) {
    bad_begin();
    const char *const path = bad_text("path", NULL);
    const size_t most = bad_number("most", 268435456);
    if (bad_flag("stubborn", false)) {
        (void)signal(SIGXFSZ, SIG_IGN);
    }
    (void)bad_connect("tool");
    const int file =
        path == NULL ? open_nameless() : open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0) {
        bad_die(BAD_TROUBLE, "the file cannot be made: %s", strerror(errno));
    }
    bad_log("writing");
    static char block[65536];
    size_t written = 0;
    while (most == 0 || written < most) {
        const ssize_t part = write(file, block, sizeof block);
        if (part < 0 && errno != EINTR) {
            const int trouble = errno;
            bad_print(
                "{\"version\":\"0\",\"type\":\"log\",\"level\":\"info\",\"message\":\"file\","
                "\"fields\":{\"written\":%zu,\"error\":\"%s\"}}\n",
                written, bad_errno_name(trouble));
            bad_error("FILE_TOO_LARGE", strerror(trouble));
            bad_done(false);
            return 0;
        }
        written += part > 0 ? (size_t)part : 0;
    }
    bad_log("no limit stopped the writing");
    bad_done(true);
    return 0;
}
