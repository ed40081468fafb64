/* SPDX-License-Identifier: Apache-2.0 */

/* Row: writes events after `done`.
 * Expected: they are not accepted, but drained and counted; `done` decides, the state is unchanged.
 *
 * ok       of the first `done`, default true
 * count    state patches after it, default 3; they set /after_done. A log event, a second `done`
 *          with the other `ok`, and a line that is not JSON follow
 * split    whether the late lines come in a separate write after the test's byte, default false:
 *          all in one write
 * socket   for split */

#include "bad.h"

int main(void) {
    bad_begin();
    const bool ok = bad_flag("ok", true);
    const bool split = bad_flag("split", false);
    const size_t count = bad_number("count", 3);
    const int witness = bad_connect("tool");
    char *text = NULL;
    size_t size = 0;
    FILE *const stream = open_memstream(&text, &size);
    if (stream == NULL) {
        bad_die(BAD_TROUBLE, "no memory");
    }
    fprintf(stream,
            "{\"version\":\"0\",\"type\":\"state_patch\",\"patch\":{\"before_done\":true}}\n"
            "{\"version\":\"0\",\"type\":\"done\",\"ok\":%s,\"summary\":\"First.\"}\n",
            ok ? "true" : "false");
    (void)fflush(stream);
    const size_t first = size;
    for (size_t index = 1; index <= count; ++index) {
        fprintf(stream,
                "{\"version\":\"0\",\"type\":\"state_patch\",\"patch\":{\"after_done\":%zu}}\n",
                index);
    }
    fprintf(stream,
            "{\"version\":\"0\",\"type\":\"log\",\"level\":\"info\",\"message\":\"late\"}\n"
            "{\"version\":\"0\",\"type\":\"done\",\"ok\":%s,\"summary\":\"Second.\"}\n"
            "this is not JSON\n",
            ok ? "false" : "true");
    if (fclose(stream) != 0) {
        bad_die(BAD_TROUBLE, "no memory");
    }
    size_t at = 0;
    if (split) {
        (void)bad_write(STDOUT_FILENO, text, first);
        bad_await(witness);
        at = first;
    }
    (void)bad_write(STDOUT_FILENO, text + at, size - at);
    free(text);
    return 0;
}
