// SPDX-License-Identifier: Apache-2.0
#pragma once
// Determines which limit ended a process, if any.

#include <string>
#include <string_view>

#include "process/process.hpp"

namespace narratoria::process {

struct LimitEnd {
    // MEMORY_LIMIT, OUT_OF_MEMORY, CPU_LIMIT, FILE_SIZE_LIMIT; empty: not ended by a limit
    std::string code;
    std::string text;
};

// `told_to_end`: the engine itself sent a signal, so SIGKILL does not indicate a limit. `who`: the
// subject of the text, for example "the tool".
LimitEnd limit_end(const Limits& limits, const Exit& exit, bool told_to_end, std::string_view who);

// Returns a message if the creation of processes was refused, which the process may have survived;
// otherwise empty.
std::string describe_process_limit(const Limits& limits, const Exit& exit, std::string_view who);

// Returns the text for a signal, such as "signal 9 (SIGKILL)".
std::string signal_text(int number);

}  // namespace narratoria::process
