/* SPDX-License-Identifier: Apache-2.0 */

/* Row: one event a day.
 * Must happen: that event is delivered at once; the silence costs nothing and ends with the try's
 * time-out or a cancel.
 *
 * socket   witness "tool", connected after the event is written. As it does all that the witness's
 *          commands say, it is also the tool for tests that need one which simply runs until told */

#include "bad.h"

int main(void) {
    bad_begin();
    bad_log("the one event of the day");
    bad_serve(bad_connect("tool"), "tool");
}
