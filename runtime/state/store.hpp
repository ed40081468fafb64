// SPDX-License-Identifier: Apache-2.0
#pragma once
// The state of a session, and the only way to change it.
//
// Every change goes through a function of Store, which keeps merging, history and conflict
// detection consistent. The state's JSON is always one line, even if its source documents had
// several.
//
// Belongs to one session. Engine thread only. Not reentrant: a ConflictListener must not call the
// store.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "state/history.hpp"
#include "state/tree.hpp"
#include "state/writers.hpp"

namespace narratoria::state {

// Receives the conflicts that apply() detects: `later` overwrote the value of `earlier` at `path`,
// and the two writers overlap. `path` is valid during the call only.
class ConflictListener {
public:
    virtual ~ConflictListener() = default;
    virtual void on_conflict(std::string_view path, Writer earlier, Writer later) = 0;
};

// The data that the history records with a patch.
struct PatchOrigin {
    uint64_t seq = 0;  // in the session's event stream
    int64_t time_us = 0;
    uint32_t attempt = 0;  // of the tool; 0 for the host and plugins
    // Not NULL. A reference, because the history copies the pointer once for many patches of a
    // tool.
    const std::shared_ptr<const HistoryOrigin>& by;
};

// The state at one moment. Independent of the store it was taken from, but can be restored only
// there.
//
// A snapshot is a deep copy. Copy-on-write objects would make snapshots free, but would add a check
// to each step of each merge, and the first merge after a snapshot would pay for the copy while
// tools wait. Entries are in arrays without pointers into them, so copying an object takes two
// memcpy calls and a walk over the texts and objects on the heap (docs/performance.md has the
// numbers).
class Snapshot {
public:
    const Tree& tree() const { return tree_; }

private:
    friend class Store;
    Snapshot(Tree tree, History::Mark history) : tree_(std::move(tree)), history_(history) {}

    Tree tree_;
    History::Mark history_;
};

// Limits in bytes of JSON. By default there is no limit.
struct SizeLimits {
    uint64_t patch_bytes = UINT64_MAX;
    uint64_t state_bytes = UINT64_MAX;
};

// The reason why a patch must not be applied.
struct Refusal {
    const char* code;  // PATCH_TOO_LARGE, STATE_TOO_LARGE
    std::string message;
};

class Store {
public:
    explicit Store(uint32_t history_limit, SizeLimits limits = {});
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;

    const Tree& tree() const { return tree_; }
    const History& history() const { return history_; }

    // Replaces the state by an object as it is, including nulls. Does not change the history: this
    // is the initial state of a session.
    void assign(json::Value document);
    // Merges a patch that an earlier process of the session applied, and adds it to the history.
    void fold(json::Value patch, const PatchOrigin& origin);
    void fold_nulls(json::Value nulls);
    // Moves the state and the history from a store with the same limits. No writer may be open.
    void take_from(Store&& other);
    // Adds a patch to the history that the state already contains.
    void remember(std::string_view patch, const PatchOrigin& origin);
    void remember_nulls(std::string_view nulls) { history_.add_nulls(nulls); }
    // See History::set_total().
    void set_patches(uint64_t total) { history_.set_total(total); }
    uint64_t patches() const { return history_.mark().total; }

    // Starts to maintain Tree::digest().
    void keep_digest() {
        keeps_digest_ = true;
        tree_.keep_digest();
    }

    // Registers a tool that starts and returns its number. An exclusive writer must be closed
    // before the next one opens; its patches then need no conflict detection.
    Writer open_writer(bool exclusive) { return writers_.open(exclusive); }
    void close_writer(Writer writer);

    // Checks a patch against the limits. Callers of apply() and apply_host() must not apply a
    // refused patch. A state at the limit accepts patches that do not enlarge it. `nulls`: the
    // nulls for apply_nulls(), or an empty Value.
    std::optional<Refusal> refusal(json::Value patch, json::Value nulls = {});

    // Merges a patch, which must be an object, for an open writer, and records its source text.
    // Returns the prepared patch for merging into other trees; it is valid until the next call.
    // Does not allocate once the memory of tree, patch and history has reached its steady size.
    const Patch& apply(json::Value patch, Writer writer, const PatchOrigin& origin,
                       ConflictListener* listener);

    // Merges a patch of the host or a plugin. Records it without white space and returns that line,
    // which is valid until the next call.
    std::string_view apply_host(json::Value patch, const PatchOrigin& origin);

    // Merges and records the nulls of the last patch (state/replacement.hpp). `writer` must be that
    // of the patch. Returns the prepared nulls, like apply().
    const Patch& apply_nulls(json::Value nulls, Writer writer = kHost,
                             ConflictListener* listener = nullptr);

    // Copies the state and marks the current end of the history.
    Snapshot snapshot() const { return {tree_.clone(), history_.mark()}; }
    // Restores state and history. Patches recorded after the snapshot are removed. Patches
    // dropped since, or removed by another restore, count as dropped. Writers stay open, and
    // conflict detection continues with the writers stored in the snapshot's entries.
    void restore(const Snapshot& snapshot) {
        restore(Snapshot{snapshot.tree_.clone(), snapshot.history_});
    }
    void restore(Snapshot&& snapshot);

private:
    Tree tree_;
    History history_;
    Writers writers_;
    const SizeLimits limits_;
    Patch patch_;              // its memory is reused for every patch
    std::string text_;         // the latest host patch
    json::Document document_;  // the latest host patch, parsed
    bool keeps_digest_ = false;

    void merge(Writer writer, ConflictListener* listener);

    // Valid during apply().
    Overlap overlap_;
    Writer writer_ = kHost;
    ConflictListener* listener_ = nullptr;
};

}  // namespace narratoria::state
