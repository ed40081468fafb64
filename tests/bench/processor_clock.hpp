// SPDX-License-Identifier: Apache-2.0
#pragma once
// The time that this process has computed. What one thread does in memory takes the same by the
// clock on the wall, if nobody else wants the processor.

#include <time.h>

namespace narratoria::bench {

inline double processor_seconds() {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

}  // namespace narratoria::bench
