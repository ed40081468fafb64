// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tracks the tools that write to a state concurrently. Writers are numbered in the order of
// opening. Two writers overlap if the earlier one closed after the later one had opened.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace narratoria::state {

// Never reused within one state. Tree entries and snapshots store these numbers.
using Writer = uint32_t;
// The host and the plugins. Never opened, never in conflict.
inline constexpr Writer kHost = 0;

// The open writers of one Store. Engine thread only.
class Writers {
public:
    // An exclusive writer must be closed before the next one opens.
    Writer open(bool exclusive);
    void close(Writer writer);

    // The functions below require open writers unless noted.

    // A lower bound for the numbers of the writers that overlap this one.
    Writer oldest_peer(Writer writer) const { return of(writer).oldest_peer; }
    // True if no other writer has been open since this one opened.
    bool is_alone(Writer writer) const {
        return of(writer).oldest_peer == writer && last_ == writer;
    }
    bool is_exclusive(Writer writer) const { return of(writer).exclusive; }
    // `other` may be any writer that ever opened, or kHost.
    bool overlap(Writer other, Writer writer) const;
    bool any_open() const { return open_ > 0; }

private:
    static constexpr Writer kOpen = UINT32_MAX;

    struct Span {
        Writer oldest_peer;
        Writer last_peer;  // the last one opened before this one closed; kOpen while it is open
        bool exclusive;
    };
    const Span& of(Writer writer) const { return spans_[writer - first_]; }

    Writer last_ = kHost;
    Writer first_ = kHost + 1;  // the writer of spans_[0]
    std::vector<Span> spans_;   // cleared when the last open writer closes
    size_t first_open_ = 0;     // all spans before it are closed
    size_t open_ = 0;
};

}  // namespace narratoria::state
