// SPDX-License-Identifier: Apache-2.0
#pragma once
// The state tree: nested objects into which patches are merged (spec 000 §4.2, RFC 7396).
//
// A patch never changes a part of an array and never reads a number, so the tree stores both as
// source text, without loss or conversion. Only an array with line ends loses its white space,
// because a tree's JSON is always one line. An object is a vector of entries in insertion order;
// from nine keys on it also has a hash index of 32-bit positions.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/tape.hpp"
#include "state/writers.hpp"

namespace narratoria::state {

// Selects the overwritten values that merge() reports.
struct Overlap {
    // Values of this writer and later ones are reported; the default reports none.
    Writer oldest = UINT32_MAX;
    // Receives the path's JSON Pointer and the writer of the overwritten value. The callee decides
    // if the two writers really overlap.
    std::function<void(std::string_view path, Writer earlier)> written_before;
};

struct Entry;
struct Object;
enum class Kind : uint8_t;

// A patch, prepared for merging into any number of trees: keys are hashed, and duplicate keys are
// resolved (the last one wins). Points into its tape, which must outlive it. The next prepare()
// reuses its memory.
class Patch {
public:
    Patch();
    // `value` must be an object.
    void prepare(json::Value value) { prepare(value, false); }
    // Prepares a patch in which null is a value and removes nothing.
    void prepare_nulls(json::Value nulls) { prepare(nulls, true); }
    // True if it contains a null that removes a key, even one that a later duplicate supersedes.
    bool removes() const { return removes_; }

private:
    friend class Tree;
    // Members are in preorder: those of an object value follow its member.
    struct Member {
        std::string_view key;
        std::string_view value;  // as the tree stores it; unused for an object
        uint32_t hash;
        uint32_t end;     // index of the next member of the same object
        Kind kind;        // kind of the value; Removed: null
        bool superseded;  // a later member has the same key
    };
    void prepare(json::Value value, bool keeps_nulls);
    uint32_t add_member();
    void add_members(const json::Tape& tape, uint32_t object);
    std::string_view kept_array(json::Value value);
    void settle_duplicates(uint32_t first, uint32_t count);

    bool removes_ = false;
    bool keeps_nulls_ = false;
    uint64_t seed_;
    std::vector<Member> members_;  // only the first count_ are in use
    uint32_t count_ = 0;
    std::vector<uint32_t> slots_;
    std::string compacted_;  // arrays with line ends, compacted; reserved once, so it never moves
};

// Owns all objects and texts. Not thread-safe, not reentrant.
class Tree {
public:
    Tree();
    ~Tree();
    Tree(Tree&& other) noexcept;  // `other` may only be destroyed or assigned to
    Tree& operator=(Tree&& other) noexcept;

    void merge(const Patch& patch, Writer writer = kHost, const Overlap* overlap = nullptr);
    void merge(json::Value patch, Writer writer = kHost, const Overlap* overlap = nullptr) {
        Patch prepared;
        prepared.prepare(patch);
        merge(prepared, writer, overlap);
    }

    // Replaces the content by a document, including its nulls.
    void assign(json::Value document);

    void clear();

    // A deep copy, including the writers of the entries and the recorded removals.
    Tree clone() const;

    // Appends the value at a JSON Pointer as JSON. Returns false if there is none; `malformed` is
    // true if the pointer itself is invalid.
    bool read(std::string_view pointer, std::string& out, bool& malformed) const;

    // Returns a JSON object with only the values at these JSON Pointers, in their places. Missing
    // values are left out, and an element of an array has its number as a key.
    std::string part(const std::vector<std::string>& pointers) const;

    // Counts the members or elements of the value at a JSON Pointer; 0 for other types. `count` may
    // be NULL. Returns false like read(). Copies nothing. Parses an array only if its count or an
    // element is needed.
    bool measure(std::string_view pointer, uint64_t* count, bool& malformed) const;

    // The type of the value at a JSON Pointer, or nothing if there is none. Copies nothing. Parses an
    // array only if an element is asked for.
    std::optional<json::Type> type(std::string_view pointer) const;

    void append_json(std::string& out) const;
    // The size of append_json()'s output, not counting escapes in keys. May be too large by one
    // byte per object. Updated with each change, at a cost that does not depend on the tree's size.
    uint64_t json_bytes() const { return bytes_; }
    // json_bytes() after a merge of the patch, without merging it. Costs as much as the merge.
    uint64_t json_bytes_after(const Patch& patch) const {
        return bytes_ + growth(root_, patch, 0, patch.count_);
    }

    // Starts to maintain digest() with each change, which costs a hash for each value of a patch
    // and for each replaced value.
    void keep_digest();
    // Equal for trees with the same values under the same keys, in any order of keys. Must not
    // change between processes and versions. 0 unless keep_digest() was called.
    uint64_t digest() const { return digest_; }

    // The number of keys of the root.
    size_t size() const;
    bool empty() const { return size() == 0; }

    // Forgets the removals recorded while writers overlapped.
    void forget_removals() { removals_.clear(); }

private:
    // Calls `at_object` or `at_text` with the value at the pointer. `at_text` also receives the
    // rest of the pointer, which leads into the text.
    template <typename AtObject, typename AtText>
    bool visit(std::string_view pointer, bool& malformed, AtObject&& at_object,
               AtText&& at_text) const;

    // The growth by the patch in bytes, modulo 2^64, so that it may be negative. `target` NULL: the
    // object does not exist yet.
    static uint64_t growth(const Object* target, const Patch& patch, uint32_t first, uint32_t end);
    // kWatched: a different writer may overlap, so overwritten values are reported. kDigested: the
    // digest is maintained; `path` is the path_hash() of `target`.
    template <bool kWatched, bool kDigested>
    void merge_members(Object* target, const Patch& patch, uint32_t first, uint32_t end,
                       uint64_t path);
    template <bool kDigested>
    void remove(Object* target, uint32_t position, std::string_view key, uint64_t path);
    void report_overwritten(const Object* target, uint32_t position, std::string_view key,
                            bool by_object);
    void report(std::string_view key, Writer earlier);
    void report_entry(const Entry& entry, std::string_view key);
    void report_removals_below(std::string_view key);
    std::string path_to(std::string_view key) const;

    Object* root_;
    uint64_t bytes_;  // json_bytes_of(*root_)
    bool keeps_digest_ = false;
    uint64_t digest_ = 0;  // digest_of(*root_), modulo 2^64
    uint64_t seed_;

    // Valid during merge(): the current path and the caller's arguments.
    std::vector<std::string_view> path_;
    const Overlap* overlap_ = nullptr;
    Writer oldest_ = UINT32_MAX;
    Writer writer_ = kHost;
    // A removed entry cannot store its writer. Ordered by path, so that the removals below a path
    // are one range.
    std::map<std::string, Writer, std::less<>> removals_;
};

}  // namespace narratoria::state
