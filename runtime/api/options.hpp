// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads the times, the limits and the list of plugins of the C ABI. A time or limit of 0 keeps the
// current value; NAR_NONE means no limit.

#include <limits>
#include <string>
#include <vector>

#include "api/barrier.hpp"
#include "narratoria/limits.h"
#include "process/given_limits.hpp"

namespace narratoria::api {

// Overrides `times` with the given values. Returns why the struct must be refused, or nothing.
inline std::string read_times(const nar_times* given, engine::Times& times) {
    nar_times read;
    if (const std::string fault = read_struct(given, read); !fault.empty()) {
        return "nar_times " + fault;
    }
    auto lay = [](uint32_t value, uint32_t& out) {
        if (value != 0) out = value == NAR_NONE ? 0 : value;
    };
    lay(read.try_ms, times.try_ms);
    lay(read.plan_ms, times.plan_ms);
    lay(read.narrator_ms, times.narrator_ms);
    lay(read.prompt_ms, times.prompt_ms);
    lay(read.grace_ms, times.grace_ms);
    lay(read.narrator_first_ms, times.narrator_first_ms);
    lay(read.narrator_between_ms, times.narrator_between_ms);
    return {};
}

#define NARRATORIA_LIMIT(name, type, least, text) +sizeof(type)
static_assert(sizeof(nar_limits) == sizeof(nar_limits::size) + sizeof(nar_limits::reserved)
                                                                   NAR_LIMIT_LIST(NARRATORIA_LIMIT),
              "limits.h lists every field of nar_limits");
#undef NARRATORIA_LIMIT

// Like read_times(), for limits.
inline std::string read_limits(const nar_limits* given, engine::Limits& limits) {
    nar_limits read;
    if (const std::string fault = read_struct(given, read); !fault.empty()) {
        return "nar_limits " + fault;
    }
#define NARRATORIA_LIMIT(name, type, least, text) process::apply_limit(read.name, limits.name);
    NAR_LIMIT_LIST(NARRATORIA_LIMIT)
#undef NARRATORIA_LIMIT
    return {};
}

// Ensures that these limits can be enforced. Call it after the engine's cgroup folder is set.
inline nar_status prepare_limits(engine::Engine& engine, const engine::Limits& limits,
                                 nar_error* error) {
    nar_status status = NAR_OK;
    auto check = [&](const char* name, uint64_t value, uint64_t least) {
        if (status != NAR_OK) return;
        const std::string fault = process::limit_fault(name, value, least);
        if (!fault.empty()) status = refuse_argument(error, fault);
    };
#define NARRATORIA_LIMIT(name, type, least, text) check(#name, limits.name, least);
    NAR_LIMIT_LIST(NARRATORIA_LIMIT)
#undef NARRATORIA_LIMIT
    if (status != NAR_OK) return status;
    std::string why;
    if (engine.pool().enable_limits(limits.controllers(), why)) return NAR_OK;
    const char* what = limits.controllers().processes && limits.controllers().memory
                           ? "processes and resident_bytes"
                       : limits.controllers().processes ? "processes"
                                                        : "resident_bytes";
    return fail(error, NAR_IO, "CGROUP", std::string(what) + " cannot be limited: " + why);
}

// Appends the ids or paths of plugins to `out`.
inline nar_status read_plugins(const nar_str* given, uint64_t count, std::vector<std::string>& out,
                               nar_error* error) {
    if (given == nullptr && count > 0) {
        return refuse_argument(error, "plugin_count is set, but plugins is NULL");
    }
    for (uint64_t i = 0; i < count; ++i) {
        if (view(given[i]).empty() || has_nul(given[i])) {
            return refuse_argument(
                error, "each element of plugins must be a plugin's id or the path of its file");
        }
        out.push_back(copy(given[i]));
    }
    return NAR_OK;
}

}  // namespace narratoria::api
