// SPDX-License-Identifier: Apache-2.0
#pragma once
// Watches a descriptor that its owner may close at any time.

#include <functional>

#include "base/descriptor.hpp"
#include "base/loop.hpp"

namespace narratoria {

// Like Watch, but the descriptor may be closed while it is watched. libuv would abort the process,
// so the descriptor is registered in a separate epoll instance, which the loop watches. After each
// iteration the loop checks that the number still belongs to the watched file. Engine thread only;
// the loop must outlive it. The destructor stops it and may run in its callback.
class ForeignWatch {
public:
    explicit ForeignWatch(Loop& loop) : loop_(loop), watch_(loop) {}
    ~ForeignWatch() { stop(); }
    ForeignWatch(const ForeignWatch&) = delete;
    ForeignWatch& operator=(const ForeignWatch&) = delete;

    // `on_lost` is called once, after the watch has stopped, if the descriptor was closed or its
    // number belongs to a different file. Throws std::system_error if the descriptor cannot be
    // watched.
    void start(int descriptor, std::function<void()> on_ready, std::function<void()> on_lost,
               unsigned events);
    void change(unsigned events);
    void stop();
    bool running() const { return watch_.running(); }
    bool lost() const { return lost_; }
    // True if the watched descriptor is closed or its number belongs to a different file. The loop
    // calls on_lost after its current iteration.
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
    bool failed_ = false;  // change() could not register the descriptor again
    bool lost_ = false;
};

}  // namespace narratoria
