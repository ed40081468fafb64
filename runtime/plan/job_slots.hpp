// SPDX-License-Identifier: Apache-2.0
#pragma once
// Limits how many tools an engine runs at the same time, across all its sessions.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace narratoria::plan {

// A waiter keeps its place in the queue until it has taken a slot. For the next slot it queues
// again at the end, so waiters take turns regardless of how many slots each wants. One per engine.
// Engine thread only. A waiter must call stop_waiting() before its destruction.
class JobSlots {
public:
    // Why a waiter waits. Waiters short of descriptors wake only when something ends; otherwise two
    // could wake each other forever.
    enum class WaitReason : uint8_t { Slot, Descriptors };

    explicit JobSlots(uint32_t count) : free_(count) {}

    bool take(const void* who) {
        if (free_ == 0) return false;
        --free_;
        ++used_;
        stop_waiting(who);
        return true;
    }

    // Returns a slot and wakes the waiters in order. If it returns true, waiters have the next
    // turn, and the caller should not take a slot immediately.
    bool give_back() {
        ++free_;
        --used_;
        ask([](const Waiting&) { return true; });
        return !waiting_.empty();
    }

    // Returns a slot that could not be used. Wakes only those that wait for a slot.
    void give_back_unused() {
        ++free_;
        --used_;
        ask([](const Waiting& each) { return each.reason == WaitReason::Slot; });
    }

    // Calls `ready` when a slot may be free. `who` identifies the waiter; a second call for it only
    // updates the reason.
    void wait(const void* who, WaitReason reason, std::function<void()> ready) {
        for (Waiting& each : waiting_) {
            if (each.who != who) continue;
            each.reason = reason;
            return;
        }
        waiting_.push_back({who, reason, std::move(ready)});
    }

    void stop_waiting(const void* who) {
        std::erase_if(waiting_, [&](const Waiting& each) { return each.who == who; });
    }

    uint32_t used() const { return used_; }

private:
    struct Waiting {
        const void* who;
        WaitReason reason;
        std::function<void()> ready;
    };

    template <typename Wanted>
    void ask(Wanted&& wanted) {
        // A woken waiter may change the list, so copy the callbacks first.
        std::vector<std::function<void()>> asked;
        for (const Waiting& each : waiting_) {
            if (wanted(each)) asked.push_back(each.ready);
        }
        for (const std::function<void()>& ready : asked) ready();
    }

    uint32_t free_;
    uint32_t used_ = 0;
    std::vector<Waiting> waiting_;
};

}  // namespace narratoria::plan
