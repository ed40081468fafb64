// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>

#include "narratoria/limits.h"
#include "process/process.hpp"

namespace narratoria::tool {

// The resource limits of one attempt of a tool.
struct Limits : process::Limits {
    uint64_t line_bytes = 8u * 1024 * 1024;  // the maximum length of an event line
};

// Limits that override others. Unset or 0: no override.
struct LimitOverrides {
#define NARRATORIA_LIMIT(name, type, least, text) std::optional<uint64_t> name;
    NAR_TOOL_LIMIT_LIST(NARRATORIA_LIMIT)
#undef NARRATORIA_LIMIT
};

inline void apply(const LimitOverrides& overrides, Limits& limits) {
#define NARRATORIA_LIMIT(name, type, least, text) \
    if (overrides.name.value_or(0) != 0) limits.name = *overrides.name;
    NAR_TOOL_LIMIT_LIST(NARRATORIA_LIMIT)
#undef NARRATORIA_LIMIT
}

}  // namespace narratoria::tool
