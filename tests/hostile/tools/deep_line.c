/* SPDX-License-Identifier: Apache-2.0 */

/* Row: 10,000 levels deep.
 * Expected: protocol error, naming line and byte; no stack overflow.
 *
 * levels   nested arrays or objects, including the event's own object, default 10000
 * kind     "object" (default) or "array"; one level is the patch itself, an object
 * closed   whether they are closed, default true; then `done` follows */

#include "bad.h"

int main(void) {
    bad_begin();
    const size_t levels = bad_number("levels", 10000);
    const bool objects = strcmp(bad_text("kind", "object"), "object") == 0;
    if (levels < 2) {
        bad_die(BAD_PARAMETER, "the parameter levels must be at least 2");
    }
    char *text = NULL;
    size_t size = 0;
    FILE *const stream = open_memstream(&text, &size);
    if (stream == NULL) {
        bad_die(BAD_TROUBLE, "no memory");
    }
    fputs("{\"version\":\"0\",\"type\":\"state_patch\",\"patch\":{\"a\":", stream);
    for (size_t level = 2; level < levels; ++level) {
        fputs(objects ? "{\"a\":" : "[", stream);
    }
    fputs("1", stream);
    const bool closed = bad_flag("closed", true);
    for (size_t level = 2; closed && level < levels; ++level) {
        fputs(objects ? "}" : "]", stream);
    }
    fputs(closed ? "}}\n" : "\n", stream);
    if (fclose(stream) != 0) {
        bad_die(BAD_TROUBLE, "no memory");
    }
    if (bad_write(STDOUT_FILENO, text, size)) {
        bad_done(true);
    }
    free(text);
    return 0;
}
