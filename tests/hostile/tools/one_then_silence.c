/* SPDX-License-Identifier: Apache-2.0 */

/* Row: one event a day.
 * Expected: the event is delivered at once; the silence costs nothing and ends with the attempt's
 * timeout or a cancel.
 *
 * socket   witness "tool", connected after the event is written. It obeys all of the witness's
 *          commands, so tests also use it as a tool that runs until it is told to exit */

#include "bad.h"

int main(void) {
    bad_begin();
    bad_log("the one event of the day");
    bad_serve(bad_connect("tool"), "tool");
}
