// SPDX-License-Identifier: Apache-2.0
#pragma once
// The reason why a step ended, from what srun writes to standard error.

#include <string>
#include <string_view>

namespace narratoria::slurm {

// True if what sbatch or srun writes to refuse a job or a step means that a later attempt is
// refused, too.
bool is_permanent(std::string_view message);

// Reads standard error, split anywhere. The tool's own lines come through the same pipe, so a line
// counts only with the prefix of srun or of Slurm's step daemon.
class Messages {
public:
    void take(std::string_view bytes);

    // The error code if Slurm ended the job or its step before the tool exited; otherwise empty.
    const std::string& code() const { return code_; }
    // The line from which the code was derived.
    const std::string& reason() const { return reason_; }
    // The first error of srun, else its first line; empty if it wrote none.
    const std::string& first() const { return first_; }
    // Why the step waits for its turn in the job; empty if it does not, as far as srun reports it.
    const std::string& pending() const { return pending_; }

private:
    void judge(std::string_view line);
    void note(const char* code, std::string_view line);

    std::string rest_;
    std::string code_;
    std::string reason_;
    std::string first_;
    std::string pending_;
};

}  // namespace narratoria::slurm
