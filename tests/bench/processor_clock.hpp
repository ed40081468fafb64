// SPDX-License-Identifier: Apache-2.0
#pragma once
// The processor time of this process. For one thread that works in memory it equals the wall-clock
// time if no other process wants the processor.

#include <time.h>

namespace narratoria::bench {

inline double processor_seconds() {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

}  // namespace narratoria::bench
