// SPDX-License-Identifier: Apache-2.0
#pragma once
// The state tree: nested objects that patches are merged into (spec 000 §4.2, RFC 7396).
//
// A patch never reaches into an array and never looks at a number, so both are kept as the text
// they came as: nothing is lost and nothing is converted. An object is a vector of entries in the
// order of insertion; from nine keys on a hash index of 32-bit positions stands beside it.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json.hpp"

namespace narratoria::state {

// Whoever merges: a number that grows with each tool that starts. 0 is the host.
using Writer = uint32_t;

// Who else may have written the same path at the same time.
struct Overlap {
    // Entries of writers from this one on are asked about; the default asks about none.
    Writer oldest = UINT32_MAX;
    // Called with the path's JSON Pointer and the writer whose value is overwritten. It decides
    // whether the two really ran at the same time.
    std::function<void(std::string_view path, Writer earlier)> written_before;
};

struct Object;

class Tree {
public:
    Tree();
    ~Tree();
    Tree(Tree&& other) noexcept;
    Tree& operator=(Tree&& other) noexcept;

    // Merges a patch, which is an object. Among duplicate keys of one object the last one counts.
    void merge(json::Value patch, Writer writer = 0, const Overlap* overlap = nullptr);

    // Takes a document as it stands, nulls included, in place of everything there is.
    void assign(json::Value document);

    void clear();

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
    struct Member;
    Object* merge_members(Object* target, json::Value patch);
    void report(std::string_view key, Writer earlier);
    void report_below(const Object& object);
    std::string path_to(std::string_view key) const;

    Object* root_;
    uint64_t seed_;

    // While merging: scratch that keeps its memory, and what the caller asked for.
    std::vector<Member> members_;
    std::vector<uint32_t> duplicates_;
    std::vector<std::string_view> path_;
    const Overlap* overlap_ = nullptr;
    Writer oldest_ = UINT32_MAX;
    Writer writer_ = 0;
    // A removed entry cannot remember who removed it.
    std::unordered_map<std::string, Writer> removals_;
};

}  // namespace narratoria::state
