// SPDX-License-Identifier: Apache-2.0
#pragma once
// Times and limits as the C ABI tells them: 0 is the default that stands before, NAR_NONE is none.

#include "api/barrier.hpp"

namespace narratoria::api {

// Lays what is given over `times`; false when the struct has no size.
inline bool read_times(const nar_times* given, engine::Times& times) {
    nar_times read;
    if (!read_struct(given, read)) return false;
    auto lay = [](uint32_t value, uint32_t& out) {
        if (value != 0) out = value == NAR_NONE ? 0 : value;
    };
    lay(read.try_ms, times.try_ms);
    lay(read.plan_ms, times.plan_ms);
    lay(read.narrator_ms, times.narrator_ms);
    lay(read.prompt_ms, times.prompt_ms);
    lay(read.grace_ms, times.grace_ms);
    return true;
}

inline bool read_limits(const nar_limits* given, engine::Limits& limits) {
    nar_limits read;
    if (!read_struct(given, read)) return false;
    auto lay = [](uint64_t value, uint64_t none, uint64_t& out) {
        if (value != 0) out = value == none ? UINT64_MAX : value;
    };
    lay(read.open_files, NAR_NONE, limits.open_files);
    lay(read.memory_bytes, UINT64_MAX, limits.memory_bytes);
    lay(read.file_bytes, UINT64_MAX, limits.file_bytes);
    lay(read.cpu_seconds, NAR_NONE, limits.cpu_seconds);
    lay(read.processes, NAR_NONE, limits.processes);
    lay(read.resident_bytes, UINT64_MAX, limits.resident_bytes);
    lay(read.line_bytes, UINT64_MAX, limits.line_bytes);
    if (read.history_patches != 0) limits.history_patches = read.history_patches;
    return true;
}

// Sees to it that these limits can be set, after the engine has its cgroup folder or none.
inline nar_status prepare_limits(engine::Engine& engine, const engine::Limits& limits,
                                 nar_error* error) {
    const process::Limits& process = limits;
    if (process.resident_bytes < process::kLeastResidentBytes) {
        return refuse_argument(error, "resident_bytes must be at least 1 MiB (1048576), not " +
                                          std::to_string(process.resident_bytes));
    }
    std::string why;
    if (engine.pool().enable_limits(process.controllers(), why)) return NAR_OK;
    const char* what = process.controllers().processes && process.controllers().memory
                           ? "processes and resident_bytes"
                       : process.controllers().processes ? "processes"
                                                         : "resident_bytes";
    return fail(error, NAR_IO, "CGROUP", std::string(what) + " cannot be limited: " + why);
}

}  // namespace narratoria::api
