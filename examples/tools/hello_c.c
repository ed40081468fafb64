/* SPDX-License-Identifier: Apache-2.0 */

/* The smallest tool, in C (spec 000 §9): read the invocation, print events, end with `done`.
 *
 *     cc -o hello-c hello_c.c && echo '{"input":{}}' | ./hello-c
 *
 * An event is one JSON object on one line, in UTF-8. Print only events to standard output; print
 * debugging output to standard error. */

#include <stdio.h>

int main(void) {
    /* The invocation is one JSON object on standard input. This tool reads and ignores it; a tool
     * that needs its input parses these bytes with a JSON library. */
    char invocation[4096];
    while (fread(invocation, 1, sizeof invocation, stdin) > 0) {
    }

    /* Flush after each line. By default, C buffers output to a pipe until the program exits. */
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);

    puts("{\"version\":\"0\",\"type\":\"log\",\"level\":\"info\",\"message\":\"Starting\"}");
    puts("{\"version\":\"0\",\"type\":\"state_patch\",\"patch\":{\"flags\":{\"torchLit\":true}}}");
    puts("{\"version\":\"0\",\"type\":\"done\",\"ok\":true,\"summary\":\"Torch lit.\"}");

    /* Exit status 0 means that the protocol was followed; `ok` says whether the tool succeeded. */
    return ferror(stdout) != 0;
}
