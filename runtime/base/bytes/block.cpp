// SPDX-License-Identifier: Apache-2.0
#include "base/bytes/block.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace narratoria {
namespace {

constexpr std::size_t kHugePage = 2u * 1024 * 1024;
// From this size on a block is a separate mapping: growing it moves pages instead of copying, and
// freeing it returns the memory to the kernel immediately.
constexpr std::size_t kLarge = kHugePage;
// Below this size huge pages do not pay off: the TLB can hold all small pages, and the kernel
// zeroes the whole last huge page.
constexpr std::size_t kHuge = 4 * kHugePage;

bool is_large(std::size_t bytes) { return bytes >= kLarge; }

std::size_t mapped(std::size_t bytes) { return (bytes + kHugePage - 1) / kHugePage * kHugePage; }

// Returns a mapping aligned to a huge page. If the kernel has no huge page, it uses small ones.
void* map(std::size_t bytes) {
    const std::size_t size = mapped(bytes);
    void* const all = ::mmap(nullptr, size + kHugePage, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) throw std::bad_alloc();
    char* const begin = static_cast<char*>(all);
    const std::size_t before = -reinterpret_cast<std::uintptr_t>(begin) % kHugePage;
    if (before > 0) ::munmap(begin, before);
    ::munmap(begin + before + size, kHugePage - before);
    if (bytes >= kHuge) ::madvise(begin + before, size, MADV_HUGEPAGE);
    return begin + before;
}

}  // namespace

void* new_block(std::size_t bytes) {
    if (is_large(bytes)) return map(bytes);
    void* const block = std::calloc(1, bytes);
    if (block == nullptr) throw std::bad_alloc();
    return block;
}

void* grow_block(void* block, std::size_t bytes, std::size_t more) {
    if (!is_large(more)) {
        void* const grown = std::realloc(block, more);
        if (grown == nullptr) throw std::bad_alloc();
        return grown;
    }
    void* const grown = map(more);
    if (!is_large(bytes)) {
        if (block != nullptr) std::memcpy(grown, block, bytes);
    } else if (::mremap(block, mapped(bytes), mapped(bytes), MREMAP_MAYMOVE | MREMAP_FIXED,
                        grown) == MAP_FAILED) {
        ::munmap(grown, mapped(more));
        throw std::bad_alloc();
    } else {
        // mremap has moved the pages, so there is nothing to free.
        return grown;
    }
    std::free(block);
    return grown;
}

void free_block(void* block, std::size_t bytes) {
    if (block == nullptr) return;
    if (is_large(bytes)) ::munmap(block, mapped(bytes));
    else std::free(block);
}

}  // namespace narratoria
