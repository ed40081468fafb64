/* SPDX-License-Identifier: Apache-2.0 */
/* Writes log events of every length up to 64 KiB, as fast as they are read, until it is ended. */
#define _POSIX_C_SOURCE 200809L
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { kLongest = 64 * 1024 };

int main(void) {
    static char line[kLongest];
    static const char start[] =
        "{\"version\":\"0\",\"type\":\"log\",\"level\":\"info\",\"message\":\"";
    static const char end[] = "\"}\n";
    const size_t around = sizeof start - 1 + sizeof end - 1;
    uint32_t random = (uint32_t)getpid();
    for (;;) {
        random = random * 1664525u + 1013904223u;
        const size_t text = 1 + (random >> 8) % (kLongest - around);
        memcpy(line, start, sizeof start - 1);
        memset(line + sizeof start - 1, 'x', text);
        memcpy(line + sizeof start - 1 + text, end, sizeof end - 1);
        size_t left = around + text;
        const char *at = line;
        while (left > 0) {
            const ssize_t written = write(STDOUT_FILENO, at, left);
            if (written < 0) return 1;
            at += written;
            left -= (size_t)written;
        }
    }
}
