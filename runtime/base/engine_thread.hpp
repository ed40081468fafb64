// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <pthread.h>

#include <atomic>

namespace narratoria {

// Which thread drives an engine: the creating one, until another one adopts it. Shared by what may
// outlive the engine. Thread-safe.
class EngineThread {
public:
    bool is_current() const { return pthread_equal(thread_.load(), pthread_self()) != 0; }
    void adopt() { thread_.store(pthread_self()); }

private:
    std::atomic<pthread_t> thread_{pthread_self()};
};

}  // namespace narratoria
