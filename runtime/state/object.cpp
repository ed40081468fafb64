// SPDX-License-Identifier: Apache-2.0
#include "state/object.hpp"

#include <memory>

#include "base/bytes/block.hpp"

namespace narratoria::state {
namespace {

bool has_heap(const Entry& entry) {
    return entry.key.length == Text::kOnHeap || entry.kind() == Kind::Object ||
           entry.value.length == Text::kOnHeap;
}

}  // namespace

Object::~Object() {
    for (uint32_t i = 0; i < count; ++i) {
        if (entries[i].kind() == Kind::Removed) continue;
        entries[i].key.release();
        release_value(entries[i]);
    }
    free_block(entries, bytes_of_entries());
    free_block(index, bytes_of_index());
}

Object* Object::clone() const {
    auto copy = std::make_unique<Object>();
    if (capacity == 0) return copy.release();
    copy->entries = static_cast<Entry*>(new_block(bytes_of_entries()));
    copy->capacity = capacity;
    if (index != nullptr) {
        copy->index = static_cast<uint32_t*>(new_block(bytes_of_index()));
        copy->mask = mask;
        std::memcpy(copy->index, index, bytes_of_index());
    }
    std::memcpy(copy->entries, entries, size_t{count} * sizeof(Entry));
    for (uint32_t i = 0; i < count; ++i) {
        const Entry& from = entries[i];
        Entry& to = copy->entries[i];
        if (from.kind() == Kind::Removed || !has_heap(from)) {
            copy->count = i + 1;
            continue;
        }
        // Keep it empty until it owns its memory: if an allocation throws, the destructor must not
        // free the blocks of the original.
        to.key.length = 0;
        to.value.length = 0;
        to.set_kind(Kind::Plain);
        copy->count = i + 1;
        to.key.copy(from.key);
        if (from.kind() == Kind::Object) to.child.object = from.child.object->clone();
        else to.value.copy(from.value);
        to.set_kind(from.kind());
    }
    copy->live = live;
    return copy.release();
}

void Object::release_value(Entry& entry) {
    if (entry.kind() == Kind::Object) {
        delete entry.child.object;
        entry.value.length = 0;
    } else {
        entry.value.release();
    }
    entry.set_kind(Kind::Plain);
}

uint32_t Object::find_without_index(std::string_view key, uint32_t hash) const {
    for (uint32_t i = 0; i < count; ++i) {
        const Entry& entry = entries[i];
        if (entry.hash == hash && entry.kind() != Kind::Removed && entry.key.equals(key)) return i;
    }
    return kNone;
}

Entry& Object::append(std::string_view key, uint32_t hash) {
    if (count == capacity) grow();
    Entry& entry = entries[count];
    entry.key.set(key);
    entry.hash = hash;
    entry.writer = 0;
    entry.value.length = 0;
    entry.set_kind(Kind::Plain);
    ++live;
    ++count;
    if (index != nullptr) {
        uint32_t slot = hash & mask;
        while (index[slot] != 0 && index[slot] != kGap) slot = (slot + 1) & mask;
        index[slot] = value_for(count - 1, hash);
    }
    return entry;
}

void Object::remove(uint32_t position) {
    Entry& entry = entries[position];
    if (index != nullptr) {
        uint32_t slot = entry.hash & mask;
        const uint32_t value = value_for(position, entry.hash);
        while (index[slot] != value) slot = (slot + 1) & mask;
        // Not 0: a free slot would end the search for other keys in the same probe sequence.
        index[slot] = kGap;
    }
    entry.key.release();
    release_value(entry);
    entry.set_kind(Kind::Removed);
    --live;
}

// Closes the gaps. Doubles the capacity if at least half of it is still in use.
void Object::grow() {
    if (live < count) {
        uint32_t to = 0;
        for (uint32_t from = 0; from < count; ++from) {
            if (entries[from].kind() == Kind::Removed) continue;
            if (to != from) std::memcpy(&entries[to], &entries[from], sizeof(Entry));
            ++to;
        }
        count = to;
    }
    if (capacity == 0 || live >= capacity / 2) {
        const uint32_t larger = capacity == 0 ? 4 : capacity * 2;
        // A large block grows by moving its pages, without a copy.
        entries = static_cast<Entry*>(
            grow_block(entries, bytes_of_entries(), size_t{larger} * sizeof(Entry)));
        capacity = larger;
    }
    // Rebuild the index, because the positions have changed. It has twice as many slots as entries:
    // probe sequences stay short, and each search ends at a free slot.
    if (capacity >= kIndexFrom) rebuild_index(capacity * 2);
}

void Object::rebuild_index(uint32_t slots) {
    auto* fresh = static_cast<uint32_t*>(new_block(size_t{slots} * sizeof(uint32_t)));
    // Free it after the allocation: if that throws, the old index is intact.
    free_block(index, bytes_of_index());
    index = fresh;
    mask = slots - 1;
    for (uint32_t i = 0; i < count; ++i) {
        uint32_t slot = entries[i].hash & mask;
        while (index[slot] != 0) slot = (slot + 1) & mask;
        index[slot] = value_for(i, entries[i].hash);
    }
}

}  // namespace narratoria::state
