// SPDX-License-Identifier: Apache-2.0
#pragma once
// The patches that produced the current state, with their origin and time (spec 004 SessionState).

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace narratoria::state {

// The origin of a patch. All patches of one tool share one object.
struct HistoryOrigin {
    std::string plan_id;
    std::string tool_id;
};

struct HistoryEntry {
    uint64_t seq = 0;  // in the session's event stream
    int64_t time_us = 0;
    uint32_t attempt = 0;
    std::shared_ptr<const HistoryOrigin> origin;
    uint64_t ordinal = 0;  // position in the history; never reused
    std::string text;
    std::string nulls;  // the nulls of the patch, see replacement.hpp; may be empty
};

// The latest patches, up to `limit`, and the number of older ones dropped. Engine thread only;
// owned by a Store.
class History {
public:
    explicit History(uint32_t limit) : limit_(limit) {}

    void add(uint64_t seq, int64_t time_us, const std::shared_ptr<const HistoryOrigin>& origin,
             uint32_t attempt, std::string_view text);

    // Adds the nulls of the patch that was added last.
    void add_nulls(std::string_view nulls);

    // A point in the history, for rewind().
    struct Mark {
        uint64_t next_ordinal = 0;
        uint64_t total = 0;  // patches up to here, including dropped ones
    };
    Mark mark() const { return {next_ordinal_, dropped_ + count_}; }
    // Removes all patches added after the mark. Patches from before it that are no longer in the
    // history count as dropped.
    void rewind(const Mark& mark);

    // {"limit", "dropped", "patches": [...]}, oldest first.
    void append_json(std::string& out) const;

    uint64_t dropped() const { return dropped_; }
    // Sets the total number of patches of a restored history, including those that are still here.
    void set_total(uint64_t total) { dropped_ = total > count_ ? total - count_ : 0; }
    size_t size() const { return count_; }

private:
    // Bounds the memory, independently of the limit on the number.
    static constexpr uint64_t kMaxBytes = 64u * 1024 * 1024;

    void release_text(HistoryEntry& patch);
    void drop_oldest();
    size_t wrapped(size_t place) const {
        return place >= ring_.size() ? place - ring_.size() : place;
    }

    uint32_t limit_;
    // A ring buffer. Its texts keep their capacity for later patches.
    std::vector<HistoryEntry> ring_;
    size_t first_ = 0;
    size_t count_ = 0;
    uint64_t bytes_ = 0;
    uint64_t dropped_ = 0;
    uint64_t next_ordinal_ = 0;
};

}  // namespace narratoria::state
