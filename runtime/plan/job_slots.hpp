// SPDX-License-Identifier: Apache-2.0
#pragma once
// How many tools an engine runs at once, over all its sessions.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

namespace narratoria::plan {

class JobSlots {
public:
    explicit JobSlots(uint32_t count) : free_(count) {}

    bool take() {
        if (free_ == 0) return false;
        --free_;
        ++used_;
        return true;
    }

    // Gives one back and asks those who wait, in the order in which they came. True when somebody
    // did: it is then their turn.
    bool give_back() {
        ++free_;
        --used_;
        const bool somebody = !waiting_.empty();
        ask_waiting();
        return somebody;
    }

    // Calls `ready` when a slot may be free; `who` names the waiting for stop_waiting.
    void wait(const void* who, std::function<void()> ready) {
        stop_waiting(who);
        waiting_.emplace_back(who, std::move(ready));
    }

    void stop_waiting(const void* who) {
        std::erase_if(waiting_, [&](const auto& each) { return each.first == who; });
    }

    uint32_t used() const { return used_; }

private:
    void ask_waiting() {
        // Whoever is asked may wait again, behind the others.
        std::deque<std::pair<const void*, std::function<void()>>> asked;
        asked.swap(waiting_);
        for (auto& each : asked) each.second();
    }

    uint32_t free_;
    uint32_t used_ = 0;
    std::deque<std::pair<const void*, std::function<void()>>> waiting_;
};

}  // namespace narratoria::plan
