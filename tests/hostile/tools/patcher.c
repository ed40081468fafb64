/* SPDX-License-Identifier: Apache-2.0 */

/* Row: two tools patch the same path concurrently.
 * Expected: patches merge in order of arrival, and a trace entry names both tools.
 *
 * patch    the patch, an object, default {"shared":{"writer":"patcher"}}
 * role     its name on the witness socket, default "tool"
 * socket   witness; `p` writes the patch (echoed once it is in the pipe); other commands as in
 *          bad.h. Without a socket the tool writes the patch once, and `done` */

#include "bad.h"

static void write_patch(const char *patch) {
    bad_print("{\"version\":\"0\",\"type\":\"state_patch\",\"patch\":%s}\n", patch);
}

int main(void) {
    bad_begin();
    const char *const patch = bad_raw("patch", "{\"shared\":{\"writer\":\"patcher\"}}");
    const int witness = bad_connect(bad_text("role", "tool"));
    if (witness < 0) {
        write_patch(patch);
        bad_done(true);
        return 0;
    }
    for (;;) {
        const char command = bad_command(witness);
        if (command == 'p') {
            write_patch(patch);
        } else if (command == 'w') {
            bad_log("patcher was told to write");
        } else if (command == 'd') {
            bad_done(true);
        }
        bad_echo(witness, command);
        if (command == 'd' || command == 'x') {
            return 0;
        }
    }
}
