// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace narratoria {

// How many forks lie between this process and the first that asked. What was made under another
// number belongs to a parent.
uint64_t fork_count();

}  // namespace narratoria
