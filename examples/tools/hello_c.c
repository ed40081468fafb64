/* SPDX-License-Identifier: Apache-2.0 */

/* The smallest tool, in C (spec 000 §9): read the invocation, print events, end with `done`.
 *
 *     cc -o hello-c hello_c.c && echo '{"input":{}}' | ./hello-c
 *
 * An event is one JSON object on a line of its own, in UTF-8. Standard output carries events and
 * nothing else; what people should read while debugging goes to standard error. */

#include <stdio.h>

int main(void) {
    /* The invocation is one JSON object on standard input. A tool that does not need it still reads
     * it; one that does hands these bytes to a JSON library. */
    char invocation[4096];
    while (fread(invocation, 1, sizeof invocation, stdin) > 0) {
    }

    /* To a pipe, C collects output until the program ends. Line by line, each event arrives when it
     * happens. */
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);

    puts("{\"version\":\"0\",\"type\":\"log\",\"level\":\"info\",\"message\":\"Starting\"}");
    puts("{\"version\":\"0\",\"type\":\"state_patch\",\"patch\":{\"flags\":{\"torchLit\":true}}}");
    puts("{\"version\":\"0\",\"type\":\"done\",\"ok\":true,\"summary\":\"Torch lit.\"}");

    /* Exit 0 says that the protocol was kept; whether the tool succeeded is what `ok` says. */
    return ferror(stdout) != 0;
}
