/* SPDX-License-Identifier: Apache-2.0 */

/* Row: exits 0 without `done`.
 * Expected: failed with MISSING_DONE (another status: EXIT_STATUS); the events stay in the trace.
 *
 * status   exit status, default 0
 * silent   writes nothing at all, default false */

#include "bad.h"

int main(void) {
    bad_begin();
    if (!bad_flag("silent", false)) {
        bad_log("this was all");
        bad_print("{\"version\":\"0\",\"type\":\"state_patch\",\"patch\":{\"half\":\"done\"}}\n");
    }
    return (int)bad_number("status", 0);
}
