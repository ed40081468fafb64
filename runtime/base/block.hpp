// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory that may become huge. From 8 MiB on it lies on huge pages, where the kernel has some: it is
// given in a fraction of the time, and what is looked for all over it is found sooner, because the
// processor knows where so few pages are. Less than 2 MiB comes from malloc.

#include <cstddef>

namespace narratoria {

// Zeroed; throws std::bad_alloc.
void* new_block(std::size_t bytes);

// What was there stays there, at another place; what is new of a block is not zeroed. The old block,
// if any, is gone, unless std::bad_alloc is thrown.
void* grow_block(void* block, std::size_t bytes, std::size_t more);

// `bytes` is what it was asked for with.
void free_block(void* block, std::size_t bytes);

}  // namespace narratoria
