// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which tools write to a state at the same time. Writers are numbered in the order in which they
// open, so two of them overlap if the earlier one closed after the later one had opened.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace narratoria::state {

// Numbers are never reused within one state. Entries of the tree store them, also in snapshots.
using Writer = uint32_t;
// The host and the plugins: not opened, and in conflict with nobody.
inline constexpr Writer kHost = 0;

class Writers {
public:
    // An exclusive writer closes before the next one opens.
    Writer open(bool exclusive);
    void close(Writer writer);

    // The arguments of all functions below are writers that are open, where nothing else is said.

    // Every writer that overlaps this one has this number or a larger one.
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
        Writer last_peer;  // the last one to open before this one closed; kOpen while it is open
        bool exclusive;
    };
    const Span& of(Writer writer) const { return spans_[writer - first_]; }

    Writer last_ = kHost;
    Writer first_ = kHost + 1;  // of spans_
    std::vector<Span> spans_;   // emptied when the last open writer closes
    size_t first_open_ = 0;     // all spans before it are closed
    size_t open_ = 0;
};

}  // namespace narratoria::state
