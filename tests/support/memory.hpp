// SPDX-License-Identifier: Apache-2.0
#pragma once
// Measures the peak growth of this process's memory since construction.

#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdint>
#include <fstream>
#include <string>

namespace narratoria::hostile {

class MemoryGrowth {
public:
    MemoryGrowth() {
        ::malloc_trim(0);
        // Resets the peak (VmHWM).
        std::ofstream("/proc/self/clear_refs") << "5";
        start_kb_ = status_kb("VmRSS:");
    }

    void expect_at_most_mebibytes(uint64_t most) const {
#ifdef NARRATORIA_SANITIZED
        // A sanitizer's shadow and quarantine are memory, too, so there is nothing to measure.
        static_cast<void>(most);
#else
        const uint64_t peak = status_kb("VmHWM:");
        EXPECT_LE(peak, start_kb_ + most * 1024)
            << "it grew by " << (peak - start_kb_) / 1024 << " MiB";
#endif
    }

private:
    static uint64_t status_kb(const std::string& name) {
        std::ifstream status("/proc/self/status");
        for (std::string line; std::getline(status, line);) {
            if (line.rfind(name, 0) == 0) return std::stoull(line.substr(name.size()));
        }
        return 0;
    }

    uint64_t start_kb_ = 0;
};

}  // namespace narratoria::hostile
