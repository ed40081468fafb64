// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/hash.hpp"

namespace narratoria {

// Finds the positions of names in an array of the caller. Open addressing with linear probing: most
// lookups read one cache line here, where a node-based map reads three. The hash is seeded, so that
// the author of the names cannot choose colliding ones.
class NameIndex {
public:
    static constexpr uint32_t kNone = UINT32_MAX;

    // Allocates memory for this number of names.
    explicit NameIndex(size_t names = 0) { reserve(names); }

    // Returns the position of `name`, or kNone. `name_at(position)` returns the name of a position
    // that was added. A name that the caller has cleared is not found any more, so `name` must not
    // be empty if names are cleared.
    template <typename NameAt>
    uint32_t find(std::string_view name, const NameAt& name_at) const {
        if (slots_.empty()) return kNone;
        return slots_[slot_of(name, hash(name), name_at)].position;
    }

    // Like find(), but adds the name at `position` if there is none, and returns `position`. The
    // caller then stores the name there; if that throws, the index must not be used any more.
    template <typename NameAt>
    uint32_t find_or_add(std::string_view name, uint32_t position, const NameAt& name_at) {
        reserve(count_ + 1);
        const uint32_t hash = this->hash(name);
        Slot& slot = slots_[slot_of(name, hash, name_at)];
        if (slot.position == kNone) {
            slot = {hash, position};
            ++count_;
        }
        return slot.position;
    }

    // Adds a name that is not found. `position` must not be kNone.
    void add(std::string_view name, uint32_t position) {
        reserve(count_ + 1);
        place({hash(name), position});
        ++count_;
    }

    // The number of names that can be added without allocation.
    size_t room() const { return slots_.size() / 2 - count_; }

private:
    struct Slot {
        uint32_t hash = 0;
        uint32_t position = kNone;
    };

    uint32_t hash(std::string_view name) const {
        return static_cast<uint32_t>(hash_text(name, seed_));
    }
    void reserve(size_t names) {
        if (2 * names <= slots_.size()) return;
        size_t size = slots_.empty() ? 16 : slots_.size();
        while (size < 2 * names) size *= 2;
        std::vector<Slot> old(size);
        old.swap(slots_);
        for (const Slot& slot : old) {
            if (slot.position != kNone) place(slot);
        }
    }
    // The slot of the name, or the free one that ends the search.
    template <typename NameAt>
    size_t slot_of(std::string_view name, uint32_t hash, const NameAt& name_at) const {
        const size_t mask = slots_.size() - 1;
        for (size_t at = hash & mask;; at = (at + 1) & mask) {
            const Slot& slot = slots_[at];
            if (slot.position == kNone) return at;
            if (slot.hash == hash && name_at(slot.position) == name) return at;
        }
    }
    void place(Slot added) {
        const size_t mask = slots_.size() - 1;
        size_t at = added.hash & mask;
        while (slots_[at].position != kNone) at = (at + 1) & mask;
        slots_[at] = added;
    }

    std::vector<Slot> slots_;  // the size is a power of two, or 0; at least half of them are free
    size_t count_ = 0;
    uint64_t seed_ = hash_seed();
};

}  // namespace narratoria
