// SPDX-License-Identifier: Apache-2.0
#pragma once
// The state of a session, and the only way to change it.
//
// Everything that changes the state goes through assign(), apply() or restore(): merging, history and
// conflict detection happen here together, and a journal hooks in here. The state is always one line
// of JSON, whatever line ends the documents had that it was made from.
//
// Belongs to one session and to the engine thread. Not reentrant: a ConflictListener must not call
// the store.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "state/history.hpp"
#include "state/tree.hpp"
#include "state/writers.hpp"

namespace narratoria::state {

// Receives what apply() finds: `later` overwrote what `earlier` had written at `path`, and the two
// writers overlap. `path` is valid during the call only.
class ConflictListener {
public:
    virtual ~ConflictListener() = default;
    virtual void on_conflict(std::string_view path, Writer earlier, Writer later) = 0;
};

// What the history records of a patch beside its text.
struct PatchOrigin {
    uint64_t seq = 0;  // in the session's event stream
    int64_t time_us = 0;
    uint32_t attempt = 0;  // of the tool; 0 for the host and plugins
    // Not NULL. A reference: the history copies it once for many patches of one tool.
    const std::shared_ptr<const HistoryOrigin>& by;
};

// A state at one moment. Independent of the store it was taken from, except that it can only be
// restored there.
//
// A snapshot is a deep copy. Copy-on-write objects would make taking one free, but would put a check
// into each step of each merge, and the first merge after a snapshot would pay for the copy, at a time
// when tools wait. Entries lie in arrays without pointers into them, so the copy of an object is two
// memcpy and a walk for the texts and objects on the heap (docs/performance.md has the numbers).
class Snapshot {
public:
    const Tree& tree() const { return tree_; }

private:
    friend class Store;
    Snapshot(Tree tree, History::Mark history) : tree_(std::move(tree)), history_(history) {}

    Tree tree_;
    History::Mark history_;
};

class Store {
public:
    explicit Store(uint32_t history_limit);
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;

    const Tree& tree() const { return tree_; }
    const History& history() const { return history_; }

    // Replaces the state by an object as it stands, nulls included. The history is not changed: this
    // is the state that a session starts from.
    void assign(json::Value document);

    // Numbers a tool that starts. An exclusive one closes before the next opens; its patches then need
    // no conflict detection.
    Writer open_writer(bool exclusive) { return writers_.open(exclusive); }
    void close_writer(Writer writer);

    // Merges a patch of an open writer, which is an object, and records it as it was written. Returns
    // the prepared patch for merging into other trees, valid until the next call. Allocates nothing
    // once the memory of tree, patch and history has grown to its size.
    const Patch& apply(json::Value patch, Writer writer, const PatchOrigin& origin,
                       ConflictListener* listener);

    // Merges a patch of the host or a plugin. It is recorded as one line without white space, which is
    // returned and valid until the next call.
    std::string_view apply_host(json::Value patch, const PatchOrigin& origin);

    // Takes the state with the history up to now.
    Snapshot snapshot() const { return {tree_.clone(), history_.mark()}; }
    // Puts back state and history. Patches that were recorded after the snapshot are forgotten; those
    // that were dropped since, or forgotten by another restore, count as dropped. Writers stay open, and
    // conflict detection goes on from what the entries of the snapshot say.
    void restore(const Snapshot& snapshot) {
        restore(Snapshot{snapshot.tree_.clone(), snapshot.history_});
    }
    void restore(Snapshot&& snapshot);

private:
    Tree tree_;
    History history_;
    Writers writers_;
    Patch patch_;       // its memory serves every patch
    std::string text_;  // of the latest host patch

    // During apply().
    Overlap overlap_;
    Writer writer_ = kHost;
    ConflictListener* listener_ = nullptr;
};

}  // namespace narratoria::state
