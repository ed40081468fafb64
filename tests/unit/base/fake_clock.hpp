// SPDX-License-Identifier: Apache-2.0
#pragma once
// A clock that advances only when the test calls advance(), which also runs the timers that fall
// due.

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "base/clock.hpp"

namespace narratoria::test {

class FakeClock : public Clock {
public:
    int64_t wall_us() const override { return kStart + now_ms_ * 1000; }
    int64_t steady_ms() const override { return now_ms_; }
    uint64_t start(uint64_t milliseconds, std::function<void()> on_time) override {
        const uint64_t number = ++last_;
        timers_[{now_ms_ + static_cast<int64_t>(milliseconds), number}] = std::move(on_time);
        return number;
    }
    void stop(uint64_t timer) override {
        std::erase_if(timers_, [&](const auto& each) { return each.first.second == timer; });
    }

    // Runs the timers that become due, earliest first. A timer may start other timers.
    void advance(int64_t milliseconds) {
        const int64_t end = now_ms_ + milliseconds;
        while (!timers_.empty() && timers_.begin()->first.first <= end) {
            now_ms_ = timers_.begin()->first.first;
            const std::function<void()> on_time = std::move(timers_.begin()->second);
            timers_.erase(timers_.begin());
            on_time();
        }
        now_ms_ = end;
    }
    size_t running() const { return timers_.size(); }

private:
    static constexpr int64_t kStart = 1'700'000'000'000'000;  // 2023-11-14T22:13:20Z

    int64_t now_ms_ = 0;
    uint64_t last_ = 0;
    std::map<std::pair<int64_t, uint64_t>, std::function<void()>>
        timers_;  // keyed by due time and number
};

}  // namespace narratoria::test
