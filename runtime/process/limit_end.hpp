// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether a process ended because of a limit, and which.

#include <string>
#include <string_view>

#include "process/process.hpp"

namespace narratoria::process {

struct LimitEnd {
    std::string
        code;  // MEMORY_LIMIT, OUT_OF_MEMORY, CPU_LIMIT, FILE_SIZE_LIMIT; empty: no limit did
    std::string text;
};

// `told_to_end`: we sent it a signal, so that a death by SIGKILL says nothing. `who`: the subject of
// the text, "the tool".
LimitEnd limit_end(const Limits& limits, const Exit& exit, bool told_to_end, std::string_view who);

// That it was refused a process, which it may have survived; empty if it was not.
std::string describe_process_limit(const Limits& limits, const Exit& exit, std::string_view who);

// "signal 9 (SIGKILL)"
std::string signal_text(int number);

}  // namespace narratoria::process
