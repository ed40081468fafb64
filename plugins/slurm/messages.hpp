// SPDX-License-Identifier: Apache-2.0
#pragma once
// What srun says on standard error.

#include <cstdint>
#include <string>
#include <string_view>

namespace narratoria::slurm {

// Reads the lines of srun and of Slurm's step daemon, split anywhere. The tool's own lines come through the
// same pipe, so a line counts only with the prefix of these programs.
class Messages {
public:
    // Returns the lines that belong to the tool's diagnostics: all but those about waiting in the queue.
    std::string take(std::string_view bytes);
    // The last line, if it has no end.
    std::string take_rest();

    // 0: not known yet.
    std::uint64_t job() const { return job_; }
    // True from "queued and waiting for resources" to "has been allocated resources".
    bool is_queued() const { return is_queued_; }

    // Why the job or its step ended before the tool did: a code, or empty.
    const std::string& code() const { return code_; }
    // The line that says so.
    const std::string& reason() const { return reason_; }

private:
    bool judge(std::string_view line);
    void note(const char* code, std::string_view line);

    std::string rest_;
    std::uint64_t job_ = 0;
    bool is_queued_ = false;
    std::string code_;
    std::string reason_;
};

}  // namespace narratoria::slurm
