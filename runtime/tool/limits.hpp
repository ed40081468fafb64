// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "process/process.hpp"

namespace narratoria::tool {

// What one attempt of a tool may use.
struct Limits : process::Limits {
    uint64_t line_bytes = 8u * 1024 * 1024;  // the longest event line
};

}  // namespace narratoria::tool
