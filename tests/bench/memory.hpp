// SPDX-License-Identifier: Apache-2.0
#pragma once
// The memory of this process.

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

namespace narratoria::bench {

inline uint64_t resident_bytes() {
    long total = 0, resident = 0;
    if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
        if (std::fscanf(file, "%ld %ld", &total, &resident) != 2) resident = 0;
        std::fclose(file);
    }
    return static_cast<uint64_t>(resident) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

// The peak since the last forget_peak(), or since the start.
inline uint64_t peak_bytes() {
    unsigned long kilobytes = 0;
    if (std::FILE* file = std::fopen("/proc/self/status", "r")) {
        char line[256];
        while (std::fgets(line, sizeof line, file) != nullptr) {
            if (std::sscanf(line, "VmHWM: %lu kB", &kilobytes) == 1) break;
        }
        std::fclose(file);
    }
    return uint64_t{kilobytes} * 1024;
}

inline void forget_peak() {
    if (std::FILE* file = std::fopen("/proc/self/clear_refs", "w")) {
        std::fputs("5", file);
        std::fclose(file);
    }
}

}  // namespace narratoria::bench
