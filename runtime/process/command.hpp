// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parameters of a program to start.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/guarantees.hpp"
#include "narratoria/limits.h"
#include "process/control_groups.hpp"

namespace narratoria::process {

// UINT64_MAX means no limit. The limits of NAR_GROUP_LIMIT_LIST apply to all processes of an
// invocation together and require Pool::enable_limits.
struct Limits {
#define NARRATORIA_LIMIT(name, type, least, text) uint64_t name = UINT64_MAX;
    NAR_PROCESS_LIMIT_LIST(NARRATORIA_LIMIT)
    NAR_GROUP_LIMIT_LIST(NARRATORIA_LIMIT)
#undef NARRATORIA_LIMIT

    Controllers controllers() const {
        return {.processes = processes != UINT64_MAX, .memory = resident_bytes != UINT64_MAX};
    }
};

// The parameters of Pool::start. All strings are copied during the call.
struct Command {
    std::string path;  // absolute
    std::string folder;
    std::vector<std::string> arguments;                     // the first one is argv[0]
    const std::vector<std::string>* environment = nullptr;  // NAME=value
    std::string_view input;  // written to standard input, which is then closed
    // A service: its standard input stays open for Process::input() and `input` is ignored. It
    // counts as busy only while it is being ended.
    bool is_service = false;
    Limits limits;
    const Guarantees* guarantees = nullptr;              // enforced by a sandbox; NULL: none
    const std::vector<std::string>* readable = nullptr;  // paths that stay readable in a sandbox
    const void* owner = nullptr;                         // for Pool::end_all_of
};

}  // namespace narratoria::process
