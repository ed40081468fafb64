/* SPDX-License-Identifier: Apache-2.0 */
/* Writes input.count log events, one every 100 ms, each with its time (CLOCK_MONOTONIC, which
 * all processes share), so that the reader can compute the latency. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static int put(const char *text, int length) {
    return write(STDOUT_FILENO, text, (size_t)length) == length;
}

int main(void) {
    char request[4096];
    size_t size = 0;
    ssize_t got;
    while (size + 1 < sizeof request &&
           (got = read(STDIN_FILENO, request + size, sizeof request - 1 - size)) > 0) {
        size += (size_t)got;
    }
    request[size] = '\0';
    const char *count_text = strstr(request, "\"count\":");
    long count = count_text ? strtol(count_text + 8, NULL, 10) : 10;

    uint64_t due = now_ns();
    char line[160];
    while (count-- > 0) {
        due += 100000000u;
        const struct timespec wake = {(time_t)(due / 1000000000u), (long)(due % 1000000000u)};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL) != 0) {
        }
        const int length = snprintf(line, sizeof line,
                                    "{\"version\":\"0\",\"type\":\"log\",\"level\":\"info\","
                                    "\"message\":\"tick\",\"fields\":{\"ns\":%" PRIu64 "}}\n",
                                    now_ns());
        if (!put(line, length)) return 1;
    }
    const char done[] = "{\"version\":\"0\",\"type\":\"done\",\"ok\":true}\n";
    return put(done, sizeof done - 1) ? 0 : 1;
}
