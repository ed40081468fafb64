/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest tool in C: one log and one done. */
#include <stdio.h>

int main(void) {
    puts("{\"version\":\"0\",\"type\":\"log\",\"level\":\"info\",\"message\":\"here\"}");
    puts("{\"version\":\"0\",\"type\":\"done\",\"ok\":true}");
    return 0;
}
