// SPDX-License-Identifier: Apache-2.0
#include "plan/schedule.hpp"

#include <algorithm>

namespace narratoria::plan {
namespace {

// Upper bound of the exponential backoff, unless backoffMs itself is larger: spec 003 §13.4.5 asks
// for at least backoffMs.
constexpr uint64_t kMaxBackoffMs = 30000;

}  // namespace

Schedule::Schedule(const Plan& plan) : plan_(plan), items_(plan.tools.size()) {
    for (uint32_t i = 0; i < items_.size(); ++i) {
        items_[i].open_dependencies = static_cast<uint32_t>(plan.dependencies.of(i).size());
        if (items_[i].open_dependencies == 0) make_ready(i);
    }
}

void Schedule::grow() {
    while (items_.size() < plan_.tools.size()) {
        items_.emplace_back();
        // The largest position so far: it stays at the end of the heap.
        make_ready(static_cast<uint32_t>(items_.size() - 1));
    }
}

void Schedule::clear() {
    items_.clear();
    settled_ = 0;
}

void Schedule::make_ready(uint32_t tool) {
    items_[tool].phase = Phase::Ready;
    ready_.push(tool);
}

uint32_t Schedule::next() const {
    if (stopped_) return kNone;
    // Retries come before the exclusive check: a tool to be retried is already in flight.
    if (!retries_.empty()) return retries_.front();
    if (ready_.empty() || exclusive_started_) return kNone;
    const uint32_t tool = ready_.top();
    return is_exclusive(tool) && in_flight_ > 0 ? kNone : tool;
}

void Schedule::start(uint32_t tool) {
    Item& item = items_[tool];
    item.phase = Phase::Running;
    ++running_;
    if (++item.attempt > 1) {
        retries_.pop_front();
        drop_settled();
        return;
    }
    ready_.pop();
    ++in_flight_;
    exclusive_started_ = is_exclusive(tool);
    drop_settled();
}

// A tool that settled before it started is removed when it comes to the front.
void Schedule::drop_settled() {
    while (!ready_.empty() && is_settled(ready_.top())) ready_.pop();
    while (!retries_.empty() && is_settled(retries_.front())) retries_.pop_front();
}

void Schedule::put_back(uint32_t tool) {
    Item& item = items_[tool];
    --running_;
    // A retry keeps its place at the front of the queue.
    if (--item.attempt > 0) {
        item.phase = Phase::Ready;
        retries_.push_front(tool);
        return;
    }
    make_ready(tool);
    --in_flight_;
    exclusive_started_ = false;
}

std::optional<uint64_t> Schedule::back_off(uint32_t tool) {
    Item& item = items_[tool];
    const Tool& entry = plan_.tools[tool];
    // No attempt left: the tool stays in Running, and settle() does the counting.
    if (item.attempt > entry.max_retries) return std::nullopt;
    item.phase = Phase::BackingOff;
    --running_;
    if (entry.backoff_ms >= kMaxBackoffMs) return entry.backoff_ms;
    // The bound on the shift avoids an overflow.
    return std::min(entry.backoff_ms << std::min(item.attempt - 1, 20u), kMaxBackoffMs);
}

void Schedule::resume(uint32_t tool) {
    items_[tool].phase = Phase::Ready;
    retries_.push_back(tool);
}

std::vector<Schedule::Skip> Schedule::settle(uint32_t tool, bool completed) {
    Item& item = items_[tool];
    if (item.phase == Phase::Running) --running_;
    // A tool that never started is not in flight.
    if (item.attempt > 0) {
        --in_flight_;
        exclusive_started_ = false;
    }
    item.phase = Phase::Settled;
    ++settled_;
    drop_settled();
    if (stopped_) return {};
    if (!completed && plan_.tools[tool].required) return skip_dependents(tool);
    for (const uint32_t dependent : plan_.dependents.of(tool)) {
        Item& other = items_[dependent];
        if (other.phase == Phase::Waiting && --other.open_dependencies == 0) make_ready(dependent);
    }
    return {};
}

std::vector<Schedule::Skip> Schedule::skip_dependents(uint32_t tool) {
    std::vector<Skip> skipped;
    std::vector<uint32_t> open{tool};
    while (!open.empty()) {
        const uint32_t lacking = open.back();
        open.pop_back();
        for (const uint32_t dependent : plan_.dependents.of(lacking)) {
            Item& item = items_[dependent];
            // A dependent with several failed dependencies is skipped once, because of the first.
            if (item.phase != Phase::Waiting) continue;
            item.phase = Phase::Settled;
            ++settled_;
            skipped.push_back({dependent, lacking});
            open.push_back(dependent);
        }
    }
    return skipped;
}

}  // namespace narratoria::plan
