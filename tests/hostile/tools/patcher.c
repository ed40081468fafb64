/* SPDX-License-Identifier: Apache-2.0 */

/* Row: writes patches and does what it is told.
 * Expected: they are merged in order of arrival.
 *
 * patch    the patch, an object, default {"shared":{"writer":"patcher"}}
 * socket   witness "tool"; `p` writes the patch (echoed once it is in the pipe); other commands as in
 *          bad.h. Without a socket the tool writes the patch once, and `done` */

#include "bad.h"

static void write_patch(const char *patch) {
    bad_print("{\"version\":\"0\",\"type\":\"state_patch\",\"patch\":%s}\n", patch);
}

int main(void) {
    bad_begin();
    const char *const patch = bad_raw("patch", "{\"shared\":{\"writer\":\"patcher\"}}");
    const int witness = bad_connect("tool");
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
