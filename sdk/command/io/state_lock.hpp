// SPDX-License-Identifier: Apache-2.0
#pragma once
// Prevents two runs from using a state file at the same time, which would lose the patches of one.

#include <cstdint>
#include <string>

#include "io/file.hpp"

namespace narratoria::command {

// An exclusive lock (flock) on a state file, held until the destructor or the end of the process.
// The file is replaced by renaming, so after it gets the lock, a waiter checks that the name still
// leads to the locked file. A missing file is created with {}, which is equivalent, and removed
// again unless it was replaced.
class StateLock {
public:
    // Waits up to `wait_ms` for other runs. Throws Refused if one still holds the lock after that,
    // or if the file cannot be locked.
    StateLock(const std::string& path, std::uint64_t wait_ms);
    StateLock(StateLock&&) = delete;
    ~StateLock();

private:
    bool open_file();
    bool create_locked();
    bool is_empty() const;
    bool is_current() const;

    std::string target_;
    std::string shown_;
    Descriptor file_;
    bool created_ = false;
};

}  // namespace narratoria::command
