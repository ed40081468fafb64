// SPDX-License-Identifier: Apache-2.0
#include "slurm/messages.hpp"

#include <charconv>
#include <utility>

namespace narratoria::slurm {
namespace {

// "srun: job 17 queued and waiting for resources": 17. 0 if the line does not begin so.
std::uint64_t job_in(std::string_view line) {
    constexpr std::string_view kStart = "srun: job ";
    if (!line.starts_with(kStart)) return 0;
    line.remove_prefix(kStart.size());
    std::uint64_t job = 0;
    std::from_chars(line.data(), line.data() + line.size(), job);
    return job;
}

bool has(std::string_view line, std::string_view text) { return line.find(text) != line.npos; }

}  // namespace

std::string Messages::take(std::string_view bytes) {
    rest_ += bytes;
    std::string kept;
    std::size_t begin = 0;
    for (std::size_t end; (end = rest_.find('\n', begin)) != rest_.npos; begin = end + 1) {
        const std::string_view line = std::string_view(rest_).substr(begin, end - begin);
        if (judge(line)) (kept += line) += '\n';
    }
    rest_.erase(0, begin);
    // The tool may write without line breaks.
    constexpr std::size_t kLongestLine = 64 * 1024;
    if (rest_.size() > kLongestLine) kept += std::exchange(rest_, {});
    return kept;
}

std::string Messages::take_rest() { return std::exchange(rest_, {}); }

// False: the line is about the queue.
bool Messages::judge(std::string_view line) {
    const bool is_of_srun = line.starts_with("srun: ");
    if (!is_of_srun && !line.starts_with("slurmstepd")) return true;
    if (const std::uint64_t job = job_in(line)) {
        job_ = job;
        is_queued_ = has(line, "queued and waiting");
        return false;
    }
    if (has(line, "DUE TO TIME LIMIT")) note("TIMEOUT", line);
    else if (has(line, "memory limit") || has(line, "oom-kill") || has(line, "Out Of Memory"))
        note("OUT_OF_MEMORY", line);
    else if (has(line, "DUE TO NODE FAILURE") || has(line, "Node failure"))
        note("NODE_FAILED", line);
    else if (has(line, "DUE TO PREEMPTION")) note("PREEMPTED", line);
    else if (has(line, "Unable to allocate resources") || has(line, "Unable to create step"))
        note("ALLOCATION_FAILED", line);
    else if (has(line, "Job/step already completing") || has(line, "has been cancelled") ||
             has(line, " CANCELLED AT "))
        note("JOB_CANCELLED", line);
    return true;
}

// The first reason counts, but for a cancellation, which others cause as well.
void Messages::note(const char* code, std::string_view line) {
    if (!code_.empty() && code_ != "JOB_CANCELLED") return;
    code_ = code;
    reason_ = line;
}

}  // namespace narratoria::slurm
