// SPDX-License-Identifier: Apache-2.0
#pragma once
// The building blocks of the tree: texts that are short most of the time, entries, objects.

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace narratoria::state {

// A text of up to 14 bytes in place, a longer one on the heap; one byte is left for whoever holds
// it. Moved with memcpy, released by hand: the entries of a large object are grown with realloc.
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
    uint8_t length;  // kOnHeap, or the bytes in place
    uint8_t tag;

    // `text` comes from a tape, so that json::kPadding bytes may be read behind it: copying all 14
    // places is faster than counting.
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
    // Takes another content, also from a tape; a heap block of the right size is used again.
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
    // Compares with a text from a tape.
    bool equals(std::string_view text) const {
        if (length == kOnHeap) {
            return heap.size == text.size() && std::memcmp(heap.data, text.data(), heap.size) == 0;
        }
        if (length != text.size()) return false;
#if defined(__SSE2__)
        const auto ours = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
        const auto theirs = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text.data()));
        const auto equal = static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(ours, theirs)));
        // How many bytes in a row are; above sixteen bits there is none.
        return static_cast<unsigned>(__builtin_ctz(~equal)) >= length;
#else
        return std::memcmp(bytes, text.data(), length) == 0;
#endif
    }
    // Takes the content of another text; the old one must hold no heap block. The tag stays.
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
    Removed,  // the entry is a gap that the next growing closes
    Plain,    // null, true, false, a number, an array: the text as it came
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

struct Object {
    static constexpr uint32_t kIndexFrom = 9;     // up to eight keys are compared one by one
    static constexpr uint32_t kGap = UINT32_MAX;  // in the index: was removed
    static constexpr uint32_t kNone = UINT32_MAX;

    Entry* entries = nullptr;
    // By hash & mask: position + 1, which the mask has room for, and above the mask the rest of the
    // hash, so that a key which is not the one wanted is hardly ever looked at. 0: free.
    uint32_t* index = nullptr;
    uint32_t count = 0;  // gaps included
    uint32_t live = 0;
    uint32_t capacity = 0;
    uint32_t mask = 0;  // slots of the index - 1

    Object() = default;
    Object(const Object&) = delete;
    Object& operator=(const Object&) = delete;
    ~Object();

    // The position of a key from a tape, or kNone.
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
    // Starts to bring in what find() will look at: first the index, then the entry. Only with an index.
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
    // Whether the key is the one at a position, which may be none.
    bool find_at(uint32_t position, std::string_view key, uint32_t hash) const {
        return position < count && entries[position].hash == hash &&
               entries[position].kind() != Kind::Removed && entries[position].key.equals(key);
    }

    // A deep copy, with the same gaps and places.
    Object* clone() const;

    // Appends an entry whose value the caller sets; the key must not be there.
    Entry& append(std::string_view key, uint32_t hash);
    void remove(uint32_t position);

    // Makes an entry's value an empty gap of kind Plain with no text.
    static void release_value(Entry& entry);

private:
    static void fetch(const void* at) {
        __builtin_prefetch(at, 1);
        // GCC takes a function that does nothing but prefetch for one that does nothing.
        asm volatile("");
    }
    // A gap is no position: entries are half as many as slots.
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
