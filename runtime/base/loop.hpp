// SPDX-License-Identifier: Apache-2.0
#pragma once
// The event loop of an engine, on libuv. The library starts no threads, so it uses no libuv
// function that needs the thread pool.

#include <uv.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <vector>

#include "base/clock.hpp"

namespace narratoria {

class ForeignWatch;
class Timer;
class Watch;

// Engine thread only, except wake(). Timers and watches must be stopped before its destruction.
class Loop {
public:
    // `clock` NULL: the system clock. Otherwise it must outlive the loop.
    explicit Loop(Clock* clock = nullptr);
    ~Loop();
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    // The driving calls. Each rethrows the first exception of a callback and runs at most one round
    // of timers. A timer that is started during a call waits for the next call, so that a timer
    // that restarts itself cannot keep a call from returning.
    void run_once();                      // waits for an event
    void run_for(uint64_t microseconds);  // never waits; 0: one round

    // True if the budget of the driving call is used up. A callback with more work then stops and
    // arranges to be called again.
    bool time_is_up() const;
    bool has_budget() const { return deadline_ns_ != 0; }

    // Runs `task` later in a driving call. The budget is checked between two tasks.
    void defer(std::function<void()> task);

    // Thread-safe and async-signal-safe. `on_wake` runs in the loop afterwards.
    void wake() noexcept;
    void set_on_wake(std::function<void()> on_wake) { on_wake_ = std::move(on_wake); }

    int descriptor() const { return uv_backend_fd(&loop_); }
    int timeout();  // milliseconds; -1: no timer is pending

    // A buffer shared by all reads: its content must be consumed before the next read. kPadding
    // bytes after it are readable.
    char* buffer() { return buffer_.get(); }
    size_t buffer_size() const { return has_budget() ? kBudgetRead : kRead; }

    uv_loop_t* uv() { return &loop_; }

    // Like the functions of base/clock.hpp.
    int64_t wall_us() const { return clock_ ? clock_->wall_us() : clock::wall_us(); }
    int64_t steady_ms() const { return clock_ ? clock_->steady_ms() : clock::steady_ms(); }

    // Stores an exception of a callback, which must not pass through libuv's C frames, until the
    // driving call returns.
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

    friend class ForeignWatch;
    friend class Timer;
    friend class Watch;

    void run_due();
    void run_deferred();
    void check_foreign();
    void keep_awake();
    void rest();
    void run_postponed();
    void rethrow();

    Clock* const clock_;
    uv_loop_t loop_;
    uv_async_t wake_;
    uv_idle_t idle_;    // active while there is work, so that the loop does not block
    uv_check_t check_;  // runs after the reads of an iteration
    std::function<void()> on_wake_;
    std::deque<std::function<void()>> deferred_;
    // Expired timers. The nodes come from the timers, because callbacks of libuv must not throw.
    std::list<Timer*> due_;
    bool ran_timers_ = false;  // in this driving call
    std::vector<ForeignWatch*> foreign_;
    // Watches that were ready when the budget ran out. They come first in the next call, so that
    // each gets its turn even with a very small budget.
    std::list<Watch*> postponed_;
    bool reading_is_first_ = false;
    std::unique_ptr<char[]> buffer_;
    std::exception_ptr thrown_;
    uint64_t deadline_ns_ = 0;
    uint64_t handled_ = 0;
};

// Calls back once after a delay. The destructor stops it and may run in its callback. Engine thread
// only; the loop must outlive it.
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
    friend class Loop;
    void fire();

    Loop& loop_;
    Handle* handle_ = nullptr;
    bool due_ = false;
    uint64_t clock_timer_ = 0;  // id in the loop's Clock, if it has one
};

// Events of a Watch, as bits. kReadable includes the closing of the other side. kClosed alone
// reports error conditions only: for the write end of a pipe, that the read end was closed.
constexpr unsigned kReadable = 1;
constexpr unsigned kWritable = 2;
constexpr unsigned kClosed = 4;

// Calls back when a descriptor is ready; spurious calls are possible. Level-triggered. An error
// condition (EPOLLERR) is reported as all watched events, until it is read or the watch stops. The
// descriptor must stay open until the watch is stopped. The destructor stops it and may run in its
// callback. Engine thread only; the loop must outlive it.
class Watch {
public:
    explicit Watch(Loop& loop) : loop_(loop) {}
    ~Watch() { stop(); }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

    void start(int descriptor, std::function<void()> on_ready, unsigned events = kReadable);
    // Replaces the watched events; 0: none until the next change. Call only while it runs.
    void change(unsigned events);
    void stop();
    bool running() const { return handle_ != nullptr; }
    // The ready events; valid in on_ready.
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
