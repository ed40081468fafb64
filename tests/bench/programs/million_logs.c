/* SPDX-License-Identifier: Apache-2.0 */
/* Writes one million log events, or input.count of them, as fast as the pipe accepts them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    char request[4096];
    const size_t size = fread(request, 1, sizeof request - 1, stdin);
    request[size] = '\0';
    const char *count_text = strstr(request, "\"count\":");
    const long count = count_text ? strtol(count_text + 8, NULL, 10) : 1000000;
    for (long i = 0; i < count; ++i) {
        printf(
            "{\"version\":\"0\",\"type\":\"log\",\"level\":\"debug\",\"message\":\"step\","
            "\"fields\":{\"step\":%ld}}\n",
            i);
    }
    puts("{\"version\":\"0\",\"type\":\"done\",\"ok\":true}");
    return 0;
}
