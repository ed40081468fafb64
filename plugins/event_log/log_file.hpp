// SPDX-License-Identifier: Apache-2.0
#pragma once
// A file of lines that several writers append to, in this process and others, and that is put aside
// when it is full: FILE becomes FILE.1, FILE.1 becomes FILE.2 …

#include <cstddef>
#include <cstdint>
#include <string>

namespace narratoria::plugins {

// Who writes holds a lock on the file (flock), so that one writer never writes into what another is
// putting aside, and a line that did not fit on the disk can be taken back whole. Whoever writes
// without the lock must append whole lines at once, as this does where there are no locks.
class LogFile {
public:
    enum class Outcome { Written, Busy, Failed };

    // `max_bytes`: 0: it is never put aside. `keep`: how many are kept; 0: what is full is removed.
    LogFile(std::string path, std::uint64_t max_bytes, std::uint64_t keep)
        : path_(std::move(path)), max_bytes_(max_bytes), keep_(keep) {}
    ~LogFile() { close(); }
    LogFile(const LogFile&) = delete;
    LogFile& operator=(const LogFile&) = delete;

    // Appends `lines`, each of which ends in a newline, and takes from its front what is in the file.
    // Busy: another one holds the lock; Failed: problem() says why. Never waits for anybody.
    Outcome append(std::string& lines);

    // Makes the file and its folders when they are not there.
    bool open();

    // Of the last call that failed, for people.
    const std::string& problem() const { return problem_; }
    // Why the file grows beyond its size; empty when it does not.
    const std::string& rotation_problem() const { return rotation_problem_; }

    const std::string& path() const { return path_; }

private:
    // Whether the file that is open is still the one that has the name.
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
    bool is_new_to_us_ = false;  // opened, and its last line not looked at
    bool is_locked_ = false;
    std::string problem_;
    std::string rotation_problem_;
    std::int64_t rotate_again_ms_ = 0;
};

// Of a clock that no one sets.
std::int64_t steady_milliseconds();

}  // namespace narratoria::plugins
