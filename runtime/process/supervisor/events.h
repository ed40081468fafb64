/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_SUPERVISOR_EVENTS_H
#define NARRATORIA_SUPERVISOR_EVENTS_H
/* Parses the kernel's counters of a control group in pids.events and memory.events. */
#include <stdint.h>
#include <string.h>

/* Returns the number after `name` in lines of "name number"; 0 if it is missing or invalid. */
static inline uint64_t event_count(const char *text, const char *name) {
    const size_t length = strlen(name);
    while (text != NULL && *text != '\0') {
        if (strncmp(text, name, length) == 0 && text[length] == ' ') {
            uint64_t count = 0;
            const char *digit = text + length + 1;
            for (; *digit >= '0' && *digit <= '9'; ++digit) {
                const uint64_t value = (uint64_t)(*digit - '0');
                if (count > (UINT64_MAX - value) / 10) return UINT64_MAX;
                count = count * 10 + value;
            }
            return *digit == '\n' || *digit == '\0' ? count : 0;
        }
        text = strchr(text, '\n');
        if (text != NULL) ++text;
    }
    return 0;
}

#endif
