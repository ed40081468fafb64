// SPDX-License-Identifier: Apache-2.0
#pragma once
// Decides whether a limit ended a process, and which one.

#include <string>
#include <string_view>

#include "process/process.hpp"

namespace narratoria::process {

struct LimitEnd {
    // MEMORY_LIMIT, OUT_OF_MEMORY, CPU_LIMIT, FILE_SIZE_LIMIT; empty: not ended by a limit
    std::string code;
    std::string text;
};

// `told_to_end`: the engine itself sent a signal, so a death by SIGKILL proves nothing. `who`: the
// subject of the text, for example "the tool".
LimitEnd limit_end(const Limits& limits, const Exit& exit, bool told_to_end, std::string_view who);

// Says that the process was refused a new process, which it may have survived; empty if it was not.
std::string describe_process_limit(const Limits& limits, const Exit& exit, std::string_view who);

// "signal 9 (SIGKILL)"
std::string signal_text(int number);

}  // namespace narratoria::process
