// SPDX-License-Identifier: Apache-2.0
#pragma once
// Keeps two runs from working on one state file at the same time: the patches of one would be lost.

#include <cstdint>
#include <string>

#include "io/file.hpp"

namespace narratoria::command {

// An exclusive lock (flock) on a state file, held until the destructor or the end of the process.
// The file is replaced by renaming, so the lock is on the file that the name led to when it was
// taken; a waiter then looks whether the name still leads there. A file that does not exist yet is
// created with {}, which means the same, and removed again unless it was replaced.
class StateLock {
public:
    // Waits up to `wait_ms` for another run. Throws Refused if it then still holds the lock, or if
    // the file cannot be locked.
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
