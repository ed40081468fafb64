// SPDX-License-Identifier: Apache-2.0
#pragma once
// The processor time of this process. For single-threaded work in memory it equals the wall time,
// unless other processes compete for the processor.

#include <time.h>

namespace narratoria::bench {

inline double processor_seconds() {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

}  // namespace narratoria::bench
