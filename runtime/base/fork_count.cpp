// SPDX-License-Identifier: Apache-2.0
#include "base/fork_count.hpp"

#include <pthread.h>

#include <atomic>

namespace narratoria {
namespace {

std::atomic<uint64_t> forks{0};

}  // namespace

uint64_t fork_count() {
    static const int registered = pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1); });
    (void)registered;
    return forks.load(std::memory_order_relaxed);
}

}  // namespace narratoria
