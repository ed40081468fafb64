// SPDX-License-Identifier: Apache-2.0
#pragma once
// The event loop of an engine, over libuv. Only what never uses libuv's thread pool is here.

#include <uv.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "base/clock.hpp"

namespace narratoria {

class Watch;

class Loop {
public:
    // `clock` NULL: the machine's; else it outlives the loop.
    explicit Loop(Clock* clock = nullptr);
    ~Loop();
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    // Each drives the loop and rethrows what a callback threw.
    void run_once();                      // waits for something to happen
    void run_for(uint64_t microseconds);  // without waiting; 0: one round

    // Whether the budget of the driving call is used up: callbacks that could go on then stop, and
    // make sure that they are called again.
    bool time_is_up() const;
    bool has_budget() const { return deadline_ns_ != 0; }

    // Runs `task` in a driving call, soon; between two tasks the budget is looked at.
    void defer(std::function<void()> task);

    // Wakes the loop from any thread, also from a signal handler; `on_wake` then runs in it.
    void wake() noexcept;
    void set_on_wake(std::function<void()> on_wake) { on_wake_ = std::move(on_wake); }

    int descriptor() const { return uv_backend_fd(&loop_); }
    int timeout();  // milliseconds, -1: none

    // One buffer for all reading: what is read is handled before the next read. kPadding bytes
    // may be read behind it.
    char* buffer() { return buffer_.get(); }
    size_t buffer_size() const { return has_budget() ? kBudgetRead : kRead; }

    uv_loop_t* uv() { return &loop_; }

    // As the functions of base/clock.hpp.
    int64_t wall_us() const { return clock_ ? clock_->wall_us() : clock::wall_us(); }
    int64_t steady_ms() const { return clock_ ? clock_->steady_ms() : clock::steady_ms(); }

    // Keeps what a callback threw until the driving call returns.
    template <typename Function>
    void guard(Function&& function) noexcept {
        ++handled_;
        try {
            function();
        } catch (...) {
            if (!thrown_) thrown_ = std::current_exception();
        }
    }

private:
    static constexpr size_t kRead = 256 * 1024;
    static constexpr size_t kBudgetRead = 32 * 1024;

    friend class Timer;
    friend class Watch;

    void run_deferred();
    void run_postponed();
    void rethrow();

    Clock* const clock_;
    uv_loop_t loop_;
    uv_async_t wake_;
    uv_idle_t idle_;
    std::function<void()> on_wake_;
    std::deque<std::function<void()>> deferred_;
    // Those that were readable when the budget was used up: first in the next call, so that each
    // has its turn however small the budget is.
    std::deque<Watch*> postponed_;
    bool reading_is_first_ = false;
    std::unique_ptr<char[]> buffer_;
    std::exception_ptr thrown_;
    uint64_t deadline_ns_ = 0;
    uint64_t handled_ = 0;
};

// Calls back once, after a time. Stopped and forgotten when destroyed, also from its own callback.
class Timer {
public:
    explicit Timer(Loop& loop) : loop_(loop) {}
    ~Timer() { stop(); }
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;

    void start(uint64_t milliseconds, std::function<void()> on_time);
    void stop();
    bool running() const { return handle_ != nullptr || clock_timer_ != 0; }

private:
    struct Handle;
    Loop& loop_;
    Handle* handle_ = nullptr;
    uint64_t clock_timer_ = 0;  // of the loop's clock, if it has one
};

// What a Watch waits for, as bits. kReadable includes that the other side closed. kClosed alone
// reports an error condition only: for the writing end of a pipe, that nobody reads it any more.
constexpr unsigned kReadable = 1;
constexpr unsigned kWritable = 2;
constexpr unsigned kClosed = 4;

// Calls back whenever a descriptor is ready, rarely also when it no longer is. Level-triggered: an
// error condition (EPOLLERR) is reported as everything that is watched for, until it is read or the
// watch stops. The descriptor must stay open until the watch has stopped.
class Watch {
public:
    explicit Watch(Loop& loop) : loop_(loop) {}
    ~Watch() { stop(); }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

    void start(int descriptor, std::function<void()> on_ready, unsigned events = kReadable);
    // What to wait for from now on; 0: nothing, until the next change. Only while it runs.
    void change(unsigned events);
    void stop();
    bool running() const { return handle_ != nullptr; }
    // What is ready, in on_ready.
    unsigned ready() const { return ready_; }

private:
    friend class Loop;
    struct Handle;
    void on_ready();
    void listen();

    Loop& loop_;
    Handle* handle_ = nullptr;
    unsigned events_ = 0;
    unsigned ready_ = 0;
    bool postponed_ = false;
};

}  // namespace narratoria
