// SPDX-License-Identifier: Apache-2.0
#include "slurm/messages.hpp"

namespace narratoria::slurm {
namespace {

bool has(std::string_view line, std::string_view text) { return line.find(text) != line.npos; }

}  // namespace

bool is_permanent(std::string_view message) {
    // Texts of slurm_strerror and of the programs, which differ in "Invalid" and "invalid".
    // Everything else may pass: no answer of the controller, limits of accounts and of QOS, an
    // allocation that has ended (an "Invalid job id").
    for (const std::string_view text :
         {"nvalid partition", "nvalid account", "nvalid qos", "nvalid feature",
          "nvalid generic resource", "nvalid node name", "nvalid license", "reservation is invalid",
          "time limit is invalid", "configuration is not available",
          "Memory required by task is not available", "can not be satisfied",
          "More processors requested than permitted", "not permitted to use this partition",
          "permission denied", "mutually exclusive"}) {
        if (has(message, text)) return true;
    }
    return false;
}

void Messages::take(std::string_view bytes) {
    rest_ += bytes;
    std::size_t begin = 0;
    for (std::size_t end; (end = rest_.find('\n', begin)) != rest_.npos; begin = end + 1) {
        judge(std::string_view(rest_).substr(begin, end - begin));
    }
    rest_.erase(0, begin);
    // A line of Slurm is shorter; the tool may write without line breaks.
    constexpr std::size_t kLongestLine = 64 * 1024;
    if (rest_.size() > kLongestLine) rest_.clear();
}

void Messages::judge(std::string_view line) {
    if (!line.starts_with("srun: ") && !line.starts_with("slurmstepd")) return;
    // Warnings and "step creation temporarily disabled" may precede the error.
    constexpr std::string_view kError = "srun: error:";
    const bool is_better = first_.empty() ? line.starts_with("srun: ")
                                          : !first_.starts_with(kError) && line.starts_with(kError);
    if (is_better) first_ = line;
    // "srun: Job 17 step creation temporarily disabled, retrying (Requested nodes are busy)"
    constexpr std::string_view kHeld = "step creation temporarily disabled";
    if (has(line, kHeld)) {
        const std::size_t begin = line.find('(');
        pending_ = begin != line.npos && line.ends_with(')')
                       ? line.substr(begin + 1, line.size() - begin - 2)
                       : kHeld;
    } else if (has(line, "DUE TO TIME LIMIT")) note("TIMEOUT", line);
    else if (has(line, "memory limit") || has(line, "oom-kill") || has(line, "Out Of Memory"))
        note("OUT_OF_MEMORY", line);
    else if (has(line, "DUE TO NODE FAILURE") || has(line, "Node failure"))
        note("NODE_FAILED", line);
    else if (has(line, "DUE TO PREEMPTION")) note("PREEMPTED", line);
    else if (has(line, "Unable to allocate resources") || has(line, "Unable to create step"))
        note("ALLOCATION_FAILED", line);
    else if (has(line, "has expired") || has(line, "Unable to confirm allocation") ||
             has(line, "Invalid job id"))
        note("ALLOCATION_LOST", line);
    // The script of the job has ended: "*** STEP 1.0 ON n1 FAILED (non-zero exit code or other …"
    else if (line.starts_with("slurmstepd") && has(line, " FAILED (non-zero exit code"))
        note("ALLOCATION_LOST",
             "the job of the tool ended, perhaps because its lease ran out: " + std::string(line));
    else if (has(line, "Job/step already completing") || has(line, "has been cancelled") ||
             has(line, " CANCELLED AT "))
        note("JOB_CANCELLED", line);
}

// Keeps the first reason. A cancellation is replaced, because every other reason causes one, too.
void Messages::note(const char* code, std::string_view line) {
    if (!code_.empty() && code_ != "JOB_CANCELLED") return;
    code_ = code;
    reason_ = line;
}

}  // namespace narratoria::slurm
