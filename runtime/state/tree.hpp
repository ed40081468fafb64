// SPDX-License-Identifier: Apache-2.0
#pragma once
// The state tree: nested objects that patches are merged into (spec 000 §4.2, RFC 7396).
//
// A patch never reaches into an array and never looks at a number, so both are kept as the text
// they came as: nothing is lost and nothing is converted. Only an array with line ends, which are
// white space in JSON, loses its white space: a tree's JSON is always one line. An object is a vector of entries in the
// order of insertion; from nine keys on a hash index of 32-bit positions stands beside it.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/tape.hpp"
#include "state/writers.hpp"

namespace narratoria::state {

// Who else may have written the same path at the same time.
struct Overlap {
    // Entries of writers from this one on are asked about; the default asks about none.
    Writer oldest = UINT32_MAX;
    // Called with the path's JSON Pointer and the writer whose value is overwritten. It decides
    // whether the two really ran at the same time.
    std::function<void(std::string_view path, Writer earlier)> written_before;
};

struct Entry;
struct Object;
enum class Kind : uint8_t;

// A patch, made ready to be merged into any number of trees: its keys hashed, its duplicate keys
// settled (the last one counts). Points into its tape; its memory is kept from one to the next.
class Patch {
public:
    Patch();
    // `value` is an object.
    void prepare(json::Value value);
    // Whether it has a null, which removes what it names; one that a later duplicate takes the place
    // of counts as well.
    bool removes() const { return removes_; }

private:
    friend class Tree;
    // Each is followed by those of its value, if that is an object.
    struct Member {
        std::string_view key;
        std::string_view value;  // as a tree keeps it; not of an object
        uint32_t hash;
        uint32_t end;     // the next member of the same object
        Kind kind;        // what the value is to be; Removed: it is null
        bool superseded;  // a later member has the same key
    };
    uint32_t add_member();
    void add_members(const json::Tape& tape, uint32_t object);
    std::string_view kept_array(json::Value value);
    void settle_duplicates(uint32_t first, uint32_t count);

    bool removes_ = false;
    uint64_t seed_;
    std::vector<Member> members_;  // the first count_ of them
    uint32_t count_ = 0;
    std::vector<uint32_t> slots_;
    std::string compacted_;  // arrays that had line ends; reserved at once, so that it never moves
};

class Tree {
public:
    Tree();
    ~Tree();
    Tree(Tree&& other) noexcept;  // `other` can only be destroyed or assigned to
    Tree& operator=(Tree&& other) noexcept;

    void merge(const Patch& patch, Writer writer = kHost, const Overlap* overlap = nullptr);
    void merge(json::Value patch, Writer writer = kHost, const Overlap* overlap = nullptr) {
        Patch prepared;
        prepared.prepare(patch);
        merge(prepared, writer, overlap);
    }

    // Takes a document as it stands, nulls included, in place of everything there is.
    void assign(json::Value document);

    void clear();

    // A deep copy, with the writers of all entries and the removals remembered.
    Tree clone() const;

    // Appends the value at a JSON Pointer as JSON. False when there is none; `malformed` tells
    // whether the pointer itself was wrong.
    bool read(std::string_view pointer, std::string& out, bool& malformed) const;

    void append_json(std::string& out) const;

    // The keys of the root.
    size_t size() const;
    bool empty() const { return size() == 0; }

    // Forgets the removals remembered while tools overlapped.
    void forget_removals() { removals_.clear(); }

private:
    // kWatched: others may have written the same paths.
    template <bool kWatched>
    void merge_members(Object* target, const Patch& patch, uint32_t first, uint32_t end);
    void remove(Object* target, uint32_t position, std::string_view key);
    void report_overwritten(const Object* target, uint32_t position, std::string_view key,
                            bool by_object);
    void report(std::string_view key, Writer earlier);
    void report_entry(const Entry& entry, std::string_view key);
    void report_removals_below(std::string_view key);
    std::string path_to(std::string_view key) const;

    Object* root_;
    uint64_t seed_;

    // While merging: where it is, and what the caller asked for.
    std::vector<std::string_view> path_;
    const Overlap* overlap_ = nullptr;
    Writer oldest_ = UINT32_MAX;
    Writer writer_ = kHost;
    // A removed entry cannot remember who removed it. By path, in order: what lies below a path is
    // one range.
    std::map<std::string, Writer, std::less<>> removals_;
};

}  // namespace narratoria::state
