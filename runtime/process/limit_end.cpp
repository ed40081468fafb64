// SPDX-License-Identifier: Apache-2.0
#include "process/limit_end.hpp"

#include <sys/wait.h>

#include <csignal>
#include <cstring>

namespace narratoria::process {
namespace {

// True if its own limit was hit, as opposed to a parent group's limit or the machine's memory.
bool is_over_its_memory(const Limits& limits, const Exit& exit) {
    return limits.resident_bytes != UINT64_MAX && exit.memory_limit_hits > 0;
}

std::string describe_memory_end(const Limits& limits, const Exit& exit, std::string_view who) {
    if (is_over_its_memory(limits, exit)) {
        return std::string(who) + " used more memory than its limit of " +
               std::to_string(limits.resident_bytes) + " bytes (resident_bytes) and was terminated";
    }
    return "the kernel killed " + std::string(who) +
           " because memory ran out on the machine or in a cgroup above its own";
}

}  // namespace

LimitEnd limit_end(const Limits& limits, const Exit& exit, bool told_to_end, std::string_view who) {
    if (exit.supervisor_lost || !WIFSIGNALED(exit.wait_status)) return {};
    const int signal = WTERMSIG(exit.wait_status);
    if (signal == SIGKILL && exit.memory_kills > 0 && !told_to_end) {
        return {is_over_its_memory(limits, exit) ? "MEMORY_LIMIT" : "OUT_OF_MEMORY",
                describe_memory_end(limits, exit, who)};
    }
    // SIGXCPU names the limit. A process that ignores it is killed by the kernel one second later.
    const bool killed_for_cpu = signal == SIGKILL && !told_to_end &&
                                limits.cpu_seconds <= (exit.user_us + exit.system_us) / 1000000;
    if (signal == SIGXCPU || killed_for_cpu) {
        return {"CPU_LIMIT",
                std::string(who) + " used up its processor time (cpu_seconds) and was terminated"};
    }
    if (signal == SIGXFSZ) {
        return {"FILE_SIZE_LIMIT",
                std::string(who) +
                    " wrote a file larger than its limit (file_bytes) and was terminated"};
    }
    return {};
}

std::string describe_process_limit(const Limits& limits, const Exit& exit, std::string_view who) {
    if (exit.refused_processes == 0) return {};
    const std::string count =
        std::to_string(exit.refused_processes) + (exit.refused_processes == 1 ? " time" : " times");
    if (limits.processes == UINT64_MAX) {
        return std::string(who) + " could not create a process " + count +
               ", because pids.max of a cgroup above its own was reached";
    }
    return std::string(who) + " reached its limit of " + std::to_string(limits.processes) +
           " processes (processes) " + count;
}

std::string signal_text(int number) {
    const char* name = ::sigabbrev_np(number);
    std::string text = "signal " + std::to_string(number);
    if (name != nullptr) text += std::string(" (SIG") + name + ")";
    return text;
}

}  // namespace narratoria::process
