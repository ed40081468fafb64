/* SPDX-License-Identifier: Apache-2.0 */

/* Row: exits 3 after `done ok`.
 * Expected: failed with EXIT_STATUS, which names the 3; the events stay in the trace.
 *
 * ok       of `done`, default true
 * status   exit status, default 3 */

#include "bad.h"

int main(void) {
    bad_begin();
    bad_print("{\"version\":\"0\",\"type\":\"state_patch\",\"patch\":{\"came\":\"before\"}}\n");
    bad_done(bad_flag("ok", true));
    return (int)bad_number("status", 3);
}
