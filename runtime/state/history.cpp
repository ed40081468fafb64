// SPDX-License-Identifier: Apache-2.0
#include "state/history.hpp"

#include "base/clock.hpp"
#include "base/json/writer.hpp"

namespace narratoria::state {

void History::release_text(HistoryEntry& patch) {
    bytes_ -= patch.text.size() + patch.nulls.size();
    std::string().swap(patch.nulls);
    // Short texts keep their capacity for the next patch in this slot.
    if (patch.text.capacity() > 4096) std::string().swap(patch.text);
}

void History::drop_oldest() {
    release_text(ring_[first_]);
    first_ = wrapped(first_ + 1);
    --count_;
    ++dropped_;
}

void History::add(uint64_t seq, int64_t time_us, const std::shared_ptr<const HistoryOrigin>& origin,
                  uint32_t attempt, std::string_view text) {
    const uint64_t ordinal = next_ordinal_++;
    if (limit_ == 0 || text.size() > kMaxBytes) {
        ++dropped_;
        return;
    }
    while (count_ > 0 && (count_ == limit_ || bytes_ + text.size() > kMaxBytes)) drop_oldest();
    if (count_ == ring_.size()) {
        // The ring is full, so copying it from first_ on keeps the order.
        std::vector<HistoryEntry> larger;
        larger.reserve(ring_.empty() ? 16 : ring_.size() * 2);
        for (size_t i = 0; i < count_; ++i) {
            larger.push_back(std::move(ring_[(first_ + i) % ring_.size()]));
        }
        larger.resize(larger.capacity());
        ring_.swap(larger);
        first_ = 0;
    }
    HistoryEntry& patch = ring_[wrapped(first_ + count_)];
    patch.seq = seq;
    patch.time_us = time_us;
    patch.attempt = attempt;
    patch.ordinal = ordinal;
    // Avoids an atomic reference count operation for a run of patches of one tool.
    if (patch.origin != origin) patch.origin = origin;
    patch.text.assign(text);
    bytes_ += text.size();
    ++count_;
}

void History::add_nulls(std::string_view nulls) {
    if (count_ == 0) return;
    HistoryEntry& newest = ring_[wrapped(first_ + count_ - 1)];
    // The patch of these nulls was not stored.
    if (newest.ordinal != next_ordinal_ - 1) return;
    newest.nulls = nulls;
    bytes_ += nulls.size();
}

void History::rewind(const Mark& mark) {
    while (count_ > 0) {
        HistoryEntry& newest = ring_[wrapped(first_ + count_ - 1)];
        if (newest.ordinal < mark.next_ordinal) break;
        release_text(newest);
        --count_;
    }
    // Patches from before the mark that have since been dropped count as dropped.
    dropped_ = mark.total - count_;
}

void History::append_json(std::string& out) const {
    json::ObjectWriter history(out);
    history.number("limit", limit_);
    history.number("dropped", static_cast<int64_t>(dropped_));
    history.key("patches");
    out += '[';
    for (size_t i = 0; i < count_; ++i) {
        const HistoryEntry& patch = ring_[(first_ + i) % ring_.size()];
        if (i > 0) out += ',';
        json::ObjectWriter writer(out);
        writer.number("seq", static_cast<int64_t>(patch.seq));
        writer.string("time", clock::to_iso8601(patch.time_us));
        writer.string("planId", patch.origin->plan_id);
        writer.string("toolId", patch.origin->tool_id);
        writer.number("attempt", patch.attempt);
        writer.raw("patch", patch.text);
        if (!patch.nulls.empty()) writer.raw("nulls", patch.nulls);
        writer.end();
    }
    out += ']';
    history.end();
}

}  // namespace narratoria::state
