// SPDX-License-Identifier: Apache-2.0
#pragma once
// A log file shared by several writers, in this process and others, that is rotated when it is
// full: FILE becomes FILE.1, FILE.1 becomes FILE.2 …

#include <cstddef>
#include <cstdint>
#include <string>

namespace narratoria::plugins {

// A writer holds a lock on the file (flock) while it writes. So no writer appends to a file that a
// different one is rotating, and a line that did not fit on the disk can be removed again. Programs
// that write without the lock must append whole lines in one write, as this class does if the file
// system has no locks. Not thread-safe.
class LogFile {
public:
    enum class Outcome { Written, Busy, Failed };

    // `max_bytes`: the size limit; 0 disables rotation. `keep`: the number of rotated files to
    // keep; 0 deletes a full file.
    LogFile(std::string path, std::uint64_t max_bytes, std::uint64_t keep)
        : path_(std::move(path)), max_bytes_(max_bytes), keep_(keep) {}
    ~LogFile() { close(); }
    LogFile(const LogFile&) = delete;
    LogFile& operator=(const LogFile&) = delete;

    // Appends `lines`, each of which ends in a newline, and removes the written ones from `lines`.
    // Busy: a different writer holds the lock. Failed: see problem(). Never blocks on the lock.
    Outcome append(std::string& lines);

    // Opens the file; creates it and its folders if they are missing. False: see problem().
    bool open();

    // The message of the last failed call.
    const std::string& problem() const { return problem_; }
    // Why the file could not be rotated and exceeds its limit; empty otherwise.
    const std::string& rotation_problem() const { return rotation_problem_; }

    const std::string& path() const { return path_; }

private:
    // False if the open file was rotated or removed by a different writer.
    bool has_its_name() const;
    Outcome lock();
    void unlock();
    bool end_torn_line(std::uint64_t& size);
    bool write_chunk(const char* data, std::size_t length, std::uint64_t size);
    bool put_aside();
    bool fail(const char* what, int error);
    void close();

    const std::string path_;
    const std::uint64_t max_bytes_;
    const std::uint64_t keep_;
    int descriptor_ = -1;
    bool is_new_to_us_ = false;  // the last line is not checked yet (end_torn_line)
    bool is_locked_ = false;
    std::string problem_;
    std::string rotation_problem_;
    std::int64_t rotate_again_ms_ = 0;
};

// The monotonic clock.
std::int64_t steady_milliseconds();

}  // namespace narratoria::plugins
