// SPDX-License-Identifier: Apache-2.0
#pragma once
// Watches a descriptor that somebody else owns and may close at any time.

#include <functional>

#include "base/descriptor.hpp"
#include "base/loop.hpp"

namespace narratoria {

// As Watch, but the descriptor may be closed while it is watched. libuv aborts the process if such a
// descriptor is registered, so it is registered in an epoll instance of its own, and the loop
// watches that. The loop looks after each turn whether the descriptor still is the watched one.
// Engine thread only; the loop must outlive it. The destructor stops it, also from its own callback.
class ForeignWatch {
public:
    explicit ForeignWatch(Loop& loop) : loop_(loop), watch_(loop) {}
    ~ForeignWatch() { stop(); }
    ForeignWatch(const ForeignWatch&) = delete;
    ForeignWatch& operator=(const ForeignWatch&) = delete;

    // `on_lost` is called once if the descriptor turns out to be closed, or its number to belong to
    // another file; the watch has stopped then. Throws std::system_error if the descriptor cannot be
    // watched.
    void start(int descriptor, std::function<void()> on_ready, std::function<void()> on_lost,
               unsigned events);
    void change(unsigned events);
    void stop();
    bool running() const { return watch_.running(); }
    bool lost() const { return lost_; }
    // True if the descriptor is closed, or its number belongs to another file, while it is watched;
    // on_lost comes after the loop's turn.
    bool is_lost() const;
    int descriptor() const { return number_; }
    // The ready events; valid in on_ready.
    unsigned ready() const { return ready_; }

private:
    friend class Loop;
    void on_event();
    int register_events(unsigned events);
    void lose();

    Loop& loop_;
    Descriptor epoll_;
    Watch watch_;
    std::function<void()> on_ready_;
    std::function<void()> on_lost_;
    int number_ = -1;
    unsigned events_ = 0;
    unsigned ready_ = 0;
    bool registered_ = false;
    bool failed_ = false;  // could not be registered again
    bool lost_ = false;
};

}  // namespace narratoria
