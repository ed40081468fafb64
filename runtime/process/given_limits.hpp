// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <limits>
#include <string>

#include "narratoria/engine.h"
#include "narratoria/limits.h"
#include "process/process.hpp"

namespace narratoria::process {

// Replaces a limit by the given one, unless that is 0. The largest value means no limit.
template <typename Given, typename Out>
void apply_limit(Given value, Out& out) {
    if (value == 0) return;
    constexpr Given kNone = std::numeric_limits<Given>::max();
    out = value == kNone ? std::numeric_limits<Out>::max() : value;
}

// Replaces all given limits of a process and its descendants.
inline void apply_limits(const nar_limits& given, Limits& limits) {
#define NARRATORIA_LIMIT(name, type, least, text) apply_limit(given.name, limits.name);
    NAR_PROCESS_LIMIT_LIST(NARRATORIA_LIMIT)
    NAR_GROUP_LIMIT_LIST(NARRATORIA_LIMIT)
#undef NARRATORIA_LIMIT
}

// Returns a message if a limit is invalid; otherwise empty.
inline std::string limit_fault(const char* name, uint64_t value, uint64_t least) {
    if (value >= least) return {};
    const std::string number = std::to_string(least);
    return std::string(name) + " must be at least " +
           (least == 1024 * 1024 ? "1 MiB (" + number + ")" : number) + ", not " +
           std::to_string(value);
}

// Returns the first fault of all limits of a process; empty if all are valid.
inline std::string limit_fault(const Limits& limits) {
    std::string fault;
#define NARRATORIA_LIMIT(name, type, least, text) \
    if (fault.empty()) fault = limit_fault(#name, limits.name, least);
    NAR_PROCESS_LIMIT_LIST(NARRATORIA_LIMIT)
    NAR_GROUP_LIMIT_LIST(NARRATORIA_LIMIT)
#undef NARRATORIA_LIMIT
    return fault;
}

}  // namespace narratoria::process
