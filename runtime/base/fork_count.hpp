// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace narratoria {

// Number of forks between this process and the first process that called this function. A resource
// created under a smaller number belongs to a parent process. Thread-safe.
uint64_t fork_count();

}  // namespace narratoria
