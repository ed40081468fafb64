// SPDX-License-Identifier: Apache-2.0
#pragma once
// The building blocks of Tree: short texts, entries, objects. Not thread-safe.

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace narratoria::state {

// A text: up to 14 bytes inline, a longer one on the heap. `tag` is free for the owner's use. Moved
// with memcpy and released explicitly, because realloc moves the entries of a large object.
struct Text {
    static constexpr size_t kInline = 14;
    static constexpr uint8_t kOnHeap = 0xFF;

    struct __attribute__((packed)) Heap {
        char* data;
        uint32_t size;
    };
    union {
        char bytes[kInline];
        Heap heap;
    };
    uint8_t length;  // kOnHeap, or the number of inline bytes
    uint8_t tag;

    // `text` must come from a tape, so that json::kPadding bytes after it may be read: copying a
    // constant size is faster than copying a variable size.
    void set(std::string_view text) {
        if (text.size() <= kInline) {
            std::memcpy(bytes, text.data(), kInline);
            length = static_cast<uint8_t>(text.size());
        } else {
            auto* copy = static_cast<char*>(std::malloc(text.size()));
            if (copy == nullptr) throw std::bad_alloc();
            std::memcpy(copy, text.data(), text.size());
            heap.data = copy;
            heap.size = static_cast<uint32_t>(text.size());
            length = kOnHeap;
        }
    }
    // Replaces the content by a text from a tape. Reuses a heap block of the same size.
    void replace(std::string_view text) {
        if (length != kOnHeap) {
            set(text);
        } else if (text.size() == heap.size) {
            std::memcpy(heap.data, text.data(), text.size());
        } else {
            release();
            set(text);
        }
    }
    std::string_view view() const {
        if (length == kOnHeap) return {heap.data, heap.size};
        return {bytes, length};
    }
    // Compares with a text from a tape. May read the text's padding.
    bool equals(std::string_view text) const {
        if (length == kOnHeap) {
            return heap.size == text.size() && std::memcmp(heap.data, text.data(), heap.size) == 0;
        }
        if (length != text.size()) return false;
#if defined(__SSE2__)
        const auto ours = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
        const auto theirs = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text.data()));
        const auto equal = static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(ours, theirs)));
        // The number of equal leading bytes; bits above 16 are never set.
        return static_cast<unsigned>(__builtin_ctz(~equal)) >= length;
#else
        return std::memcmp(bytes, text.data(), length) == 0;
#endif
    }
    // Copies the content of `other`, but not the tag. This text must not be on the heap.
    void copy(const Text& other) {
        if (other.length == kOnHeap) {
            set(other.view());
        } else {
            std::memcpy(bytes, other.bytes, kInline);
            length = other.length;
        }
    }
    void release() {
        if (length == kOnHeap) std::free(heap.data);
        length = 0;
    }
};
static_assert(sizeof(Text) == 16);

enum class Kind : uint8_t {
    Removed,  // the entry is a gap, closed by the next grow()
    Plain,    // null, true, false, a number, an array: the source text
    String,   // the text between the quotes, still escaped
    Object,
};

struct Object;

struct Entry {
    Text key;  // decoded
    struct Child {
        Object* object;
        uint8_t unused[7];
        uint8_t kind_byte;
    };
    union {
        Text value;  // its tag is the Kind
        Child child;
    };
    uint32_t hash;
    uint32_t writer;

    Kind kind() const { return static_cast<Kind>(value.tag); }
    void set_kind(Kind kind) { value.tag = static_cast<uint8_t>(kind); }
};
static_assert(sizeof(Entry) == 40);

// The members of one JSON object in insertion order. Owns its entries, its index and its child
// objects.
struct Object {
    static constexpr uint32_t kIndexFrom = 9;     // up to eight keys are searched linearly
    static constexpr uint32_t kGap = UINT32_MAX;  // in the index: removed
    static constexpr uint32_t kNone = UINT32_MAX;

    Entry* entries = nullptr;
    // Open addressing by hash & mask. A slot holds position + 1 in the bits of the mask, and the
    // remaining bits of the hash above them, so that other keys are rarely compared. 0: free.
    uint32_t* index = nullptr;
    uint32_t count = 0;  // including gaps
    uint32_t live = 0;
    uint32_t capacity = 0;
    uint32_t mask = 0;  // number of index slots - 1

    Object() = default;
    Object(const Object&) = delete;
    Object& operator=(const Object&) = delete;
    ~Object();

    // Returns the position of a key, or kNone. json::kPadding readable bytes must follow the key.
    uint32_t find(std::string_view key, uint32_t hash) const {
        if (index == nullptr) return find_without_index(key, hash);
        for (uint32_t slot = hash & mask;; slot = (slot + 1) & mask) {
            const uint32_t value = index[slot];
            if (value == 0) return kNone;
            if (!may_be(value, hash)) continue;
            const Entry& entry = entries[position_in(value)];
            if (entry.hash == hash && entry.key.equals(key)) return position_in(value);
        }
    }
    // Prefetches what find() will read: the index slot, then the entry. Both require an index.
    void fetch_slot(uint32_t hash) const { fetch(&index[hash & mask]); }
    void fetch_entry(uint32_t hash) const {
        for (uint32_t slot = hash & mask; index[slot] != 0; slot = (slot + 1) & mask) {
            if (!may_be(index[slot], hash)) continue;
            const char* entry = reinterpret_cast<const char*>(&entries[position_in(index[slot])]);
            fetch(entry);
            fetch(entry + sizeof(Entry) - 1);
            return;
        }
    }
    // True if the entry at `position`, which may be out of range, has this key.
    bool find_at(uint32_t position, std::string_view key, uint32_t hash) const {
        return position < count && entries[position].hash == hash &&
               entries[position].kind() != Kind::Removed && entries[position].key.equals(key);
    }

    // A deep copy with the same positions and gaps.
    Object* clone() const;

    // Appends an entry; the caller must set its value. The key must not exist yet.
    Entry& append(std::string_view key, uint32_t hash);
    void remove(uint32_t position);

    // Frees an entry's value and leaves an empty one of kind Plain.
    static void release_value(Entry& entry);

private:
    static void fetch(const void* at) {
        __builtin_prefetch(at, 1);
        // Without this, GCC treats a function that only prefetches as empty and removes it.
        asm volatile("");
    }
    // kGap cannot be a position, because the index has twice as many slots as entries.
    bool may_be(uint32_t value, uint32_t hash) const {
        return ((value ^ hash) & ~mask) == 0 && value != kGap;
    }
    uint32_t position_in(uint32_t value) const { return (value & mask) - 1; }
    uint32_t value_for(uint32_t position, uint32_t hash) const {
        return (hash & ~mask) | (position + 1);
    }
    size_t bytes_of_entries() const { return size_t{capacity} * sizeof(Entry); }
    size_t bytes_of_index() const { return (size_t{mask} + 1) * sizeof(uint32_t); }
    uint32_t find_without_index(std::string_view key, uint32_t hash) const;
    void grow();
    void rebuild_index(uint32_t slots);
};

}  // namespace narratoria::state
