// SPDX-License-Identifier: Apache-2.0
#pragma once
// A time limit that can be paused.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

#include "base/loop.hpp"

namespace narratoria {

// Calls back once when its time has passed, not counting pauses. The destructor stops it and may
// run in its callback. Engine thread only; the loop must outlive it.
class Countdown {
public:
    explicit Countdown(Loop& loop) : loop_(loop), timer_(loop) {}

    // Starts or restarts it. 0 milliseconds: no limit, so it never calls back.
    void start(uint64_t milliseconds, std::function<void()> on_time) {
        stop();
        if (milliseconds == 0) return;
        left_ms_ = milliseconds;
        on_time_ = std::move(on_time);
        resume();
    }
    void pause() {
        if (!timer_.running()) return;
        timer_.stop();
        const auto passed = static_cast<uint64_t>(loop_.steady_ms() - resumed_ms_);
        left_ms_ -= std::min(left_ms_, passed);
    }
    void resume() {
        if (!on_time_ || timer_.running()) return;
        resumed_ms_ = loop_.steady_ms();
        timer_.start(left_ms_, [this] {
            // Move it out first: the call may destroy this object.
            const auto on_time = std::exchange(on_time_, nullptr);
            on_time();
        });
    }
    // Counts time that passed during a pause.
    void spend(uint64_t milliseconds) { left_ms_ -= std::min(left_ms_, milliseconds); }
    // True if it was started with a limit, and no time is left.
    bool is_used_up() const { return on_time_ != nullptr && left_ms_ == 0; }
    void stop() {
        timer_.stop();
        on_time_ = nullptr;
    }

private:
    Loop& loop_;
    Timer timer_;
    std::function<void()> on_time_;  // empty: not started, or expired
    uint64_t left_ms_ = 0;
    int64_t resumed_ms_ = 0;
};

}  // namespace narratoria
