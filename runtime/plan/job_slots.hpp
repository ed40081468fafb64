// SPDX-License-Identifier: Apache-2.0
#pragma once
// How many tools an engine runs at once, over all its sessions.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace narratoria::plan {

// Those who wait keep their place until they have taken one; whoever wants another one then waits
// behind the others. So they take turns, however many each wants.
class JobSlots {
public:
    // What a waiting one lacks. Who lacks descriptors is asked when something has ended, and not
    // because somebody else found none either: they would ask each other for ever.
    enum class WaitReason : uint8_t { Slot, Descriptors };

    explicit JobSlots(uint32_t count) : free_(count) {}

    bool take(const void* who) {
        if (free_ == 0) return false;
        --free_;
        ++used_;
        stop_waiting(who);
        return true;
    }

    // Gives one back and asks those who wait, in the order in which they came. True when somebody
    // did: it is then their turn.
    bool give_back() {
        ++free_;
        --used_;
        ask([](const Waiting&) { return true; });
        return !waiting_.empty();
    }

    // Gives one back that could not be used.
    void give_back_unused() {
        ++free_;
        --used_;
        ask([](const Waiting& each) { return each.reason == WaitReason::Slot; });
    }

    // Calls `ready` when a slot may be free; `who` names the waiting for stop_waiting.
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
        // Whoever is asked may change the list.
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
