// SPDX-License-Identifier: Apache-2.0
#include "tool_threads.hpp"

#include <cxxabi.h>
#include <poll.h>

#include <atomic>
#include <cerrno>
#include <ctime>
#include <utility>

#include "python_calls.hpp"

namespace narratoria::python {
namespace {

using Found = SpinWait::Found;

std::atomic<std::uint32_t> lock_releases{0};
std::atomic<std::uint32_t> waiting_drivers{0};
std::atomic<std::uint32_t> running_tools{0};
std::atomic<std::uint32_t> ending_tools{0};  // their threads are about to release the lock

thread_local bool is_tool_thread = false;
thread_local bool is_ending = false;
thread_local SpinWait wait_for_event;
thread_local SpinWait wait_for_lock;

}  // namespace

void SpinWait::pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

ThreadInbox::ThreadInbox() { ::sem_init(&is_full_, 0, 0); }

ThreadInbox::~ThreadInbox() { ::sem_destroy(&is_full_); }

void ThreadInbox::put(py::object work) {
    work_ = std::move(work);
    put_at_ = lock_releases.load(std::memory_order_relaxed);
    running_tools.fetch_add(1, std::memory_order_relaxed);
    ::sem_post(&is_full_);
}

py::object ThreadInbox::get(std::optional<double> seconds) {
    is_tool_thread = true;
    PyThreadState* const released = PyEval_SaveThread();
    if (is_working_) running_tools.fetch_sub(1, std::memory_order_relaxed);
    if (std::exchange(is_ending, false)) ending_tools.fetch_sub(1, std::memory_order_release);
    is_working_ = spin() || sleep(seconds);
    try {
        PyEval_RestoreThread(released);
    } catch (abi::__forced_unwind&) {
        block_forever();
    }
    return is_working_ ? std::exchange(work_, py::none()) : py::none();
}

bool ThreadInbox::spin() {
    bool has_work = false;
    wait_.spin([&] {
        has_work = has_work || ::sem_trywait(&is_full_) == 0;
        if (!has_work) {
            return waiting_drivers.load(std::memory_order_relaxed) > 0 ? Found::Never
                                                                       : Found::NotYet;
        }
        // Until then the driving thread has the lock.
        return lock_releases.load(std::memory_order_acquire) != put_at_ ? Found::Yes
                                                                        : Found::NotYet;
    });
    return has_work;
}

bool ThreadInbox::sleep(std::optional<double> seconds) {
    timespec until{};
    if (seconds) {
        ::clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += static_cast<time_t>(*seconds);
    }
    int status = 0;
    do {
        status = seconds ? ::sem_timedwait(&is_full_, &until) : ::sem_wait(&is_full_);
    } while (status != 0 && errno == EINTR);
    return status == 0;
}

void lock_was_released() { lock_releases.fetch_add(1, std::memory_order_release); }

void await_ending_tool() {
    auto has_ended = [] { return ending_tools.load(std::memory_order_acquire) == 0; };
    if (has_ended()) return;
    wait_for_lock.spin([&] { return has_ended() ? Found::Yes : Found::NotYet; });
}

DriverWait::DriverWait() { waiting_drivers.fetch_add(1, std::memory_order_relaxed); }

DriverWait::~DriverWait() { waiting_drivers.fetch_sub(1, std::memory_order_relaxed); }

bool DriverWait::spin(int descriptor) {
    if (running_tools.load(std::memory_order_relaxed) == 0) return false;
    pollfd watched{descriptor, POLLIN, 0};
    return wait_for_event.spin(
        [&] { return ::poll(&watched, 1, 0) != 0 ? Found::Yes : Found::NotYet; });
}

void tool_is_ending() {
    if (is_tool_thread && !std::exchange(is_ending, true)) {
        ending_tools.fetch_add(1, std::memory_order_relaxed);
    }
}

}  // namespace narratoria::python
