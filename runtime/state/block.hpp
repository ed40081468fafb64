// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory of the objects of the tree, which are many small ones or few huge ones. In a huge one every
// key that is looked for lies on another page; on pages of 2 MiB it is found in half of the time,
// because the processor knows where they are.

#include <cstddef>

namespace narratoria::state {

// Zeroed; throws std::bad_alloc.
void* new_block(std::size_t bytes);

// What was there stays there, at another place; what is new of a block is not zeroed. The old block,
// if any, is gone, unless std::bad_alloc is thrown.
void* grow_block(void* block, std::size_t bytes, std::size_t more);

// `bytes` is what it was asked for with.
void free_block(void* block, std::size_t bytes);

}  // namespace narratoria::state
