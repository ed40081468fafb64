// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which patches made the state what it is, who made them and when (spec 004 SessionState).

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace narratoria::state {

// Who made a patch; the patches of a tool share one.
struct HistoryOrigin {
    std::string plan_id;
    std::string tool_id;
};

struct HistoryEntry {
    uint64_t seq = 0;  // in the session's event stream
    int64_t time_us = 0;
    uint32_t attempt = 0;
    std::shared_ptr<const HistoryOrigin> origin;
    uint64_t ordinal = 0;  // counts the patches of the history; never reused
    std::string text;
};

// The latest patches, and how many older ones were dropped.
class History {
public:
    explicit History(uint32_t limit) : limit_(limit) {}

    void add(uint64_t seq, int64_t time_us, const std::shared_ptr<const HistoryOrigin>& origin,
             uint32_t attempt, std::string_view text);

    // A moment in the history.
    struct Mark {
        uint64_t next_ordinal = 0;
        uint64_t total = 0;  // patches up to then, dropped ones included
    };
    Mark mark() const { return {next_ordinal_, dropped_ + count_}; }
    // Goes back to a mark: forgets all patches that were added after it. Those from before it that are
    // no longer here count as dropped.
    void rewind(const Mark& mark);

    // {"limit", "dropped", "patches": [...]}, oldest first.
    void append_json(std::string& out) const;

    uint64_t dropped() const { return dropped_; }
    size_t size() const { return count_; }

private:
    // However few patches are kept, they must not hold more than this.
    static constexpr uint64_t kMaxBytes = 64u * 1024 * 1024;

    void release_text(HistoryEntry& patch);
    void drop_oldest();
    size_t wrapped(size_t place) const {
        return place >= ring_.size() ? place - ring_.size() : place;
    }

    uint32_t limit_;
    // A ring whose texts keep their memory from one patch to the next.
    std::vector<HistoryEntry> ring_;
    size_t first_ = 0;
    size_t count_ = 0;
    uint64_t bytes_ = 0;
    uint64_t dropped_ = 0;
    uint64_t next_ordinal_ = 0;
};

}  // namespace narratoria::state
