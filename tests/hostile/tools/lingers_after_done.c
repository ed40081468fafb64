/* SPDX-License-Identifier: Apache-2.0 */

/* Row: lingers after `done`.
 * Expected: ended after the grace period; its `done` decides, with a warning.
 *
 * ok        of `done`, default true
 * stubborn  ignores SIGTERM and similar signals, default false
 * socket    witness "tool" */

#include "bad.h"

int main(void) {
    bad_begin();
    if (bad_flag("stubborn", false)) {
        bad_ignore_endings();
    }
    const int witness = bad_connect("tool");
    bad_log("done comes, the exit does not");
    bad_done(bad_flag("ok", true));
    bad_serve(witness, "tool");
}
