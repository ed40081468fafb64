// SPDX-License-Identifier: Apache-2.0
#include "event_log/log_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <system_error>

namespace narratoria::plugins {
namespace {

// The time between attempts to rotate a file.
constexpr std::int64_t kRotateAgainMs = 5000;

// How often to reopen the file if it is rotated by other writers between open and lock.
constexpr int kMaxOpenings = 16;

}  // namespace

std::int64_t steady_milliseconds() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
}

bool LogFile::fail(const char* what, int error) {
    problem_ = "\"" + path_ + "\" cannot be " + what + ": " +
               std::error_code(error, std::generic_category()).message();
    return false;
}

void LogFile::close() {
    // Also releases the lock.
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
    is_locked_ = false;
}

bool LogFile::open() {
    if (descriptor_ >= 0) return true;
    // O_NONBLOCK, because opening a pipe may block. O_RDWR, to read the end of the last line.
    constexpr int flags = O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    descriptor_ = ::open(path_.c_str(), flags, 0666);
    if (descriptor_ < 0 && errno == ENOENT) {
        std::error_code error;
        std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), error);
        if (error) {
            problem_ = "the folder of \"" + path_ + "\" cannot be created: " + error.message();
            return false;
        }
        descriptor_ = ::open(path_.c_str(), flags, 0666);
    }
    if (descriptor_ < 0) return fail("opened", errno);
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
        close();
        problem_ = "\"" + path_ + "\" is not a regular file";
        return false;
    }
    is_new_to_us_ = true;
    return true;
}

bool LogFile::has_its_name() const {
    struct stat ours {
    }, named{};
    return ::fstat(descriptor_, &ours) == 0 && ::stat(path_.c_str(), &named) == 0 &&
           ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
}

LogFile::Outcome LogFile::lock() {
    for (int opening = 0; opening < kMaxOpenings; ++opening) {
        if (!open()) return Outcome::Failed;
        if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
            return Outcome::Busy;
        }
        // Other errors: the file system does not support locks. Go on without.
        is_locked_ = true;
        if (has_its_name()) return Outcome::Written;
        close();
    }
    return Outcome::Busy;
}

void LogFile::unlock() {
    if (is_locked_ && descriptor_ >= 0) ::flock(descriptor_, LOCK_UN);
    is_locked_ = false;
}

// Ends an incomplete last line: an earlier writer may have died while writing it.
bool LogFile::end_torn_line(std::uint64_t& size) {
    if (!is_new_to_us_) return true;
    char last = '\n';
    if (size > 0 && ::pread(descriptor_, &last, 1, static_cast<off_t>(size - 1)) == 1 &&
        last != '\n') {
        if (!write_chunk("\n", 1, size)) return false;
        ++size;
    }
    is_new_to_us_ = false;
    return true;
}

// Writes all of it, or removes what was written. `size`: the size of the file before.
bool LogFile::write_chunk(const char* data, std::size_t length, std::uint64_t size) {
    for (std::size_t done = 0; done < length;) {
        const ssize_t count = ::write(descriptor_, data + done, length - done);
        if (count > 0) {
            done += static_cast<std::size_t>(count);
            continue;
        }
        const int error = count < 0 ? errno : EIO;
        if (error == EINTR) continue;
        // If the incomplete line cannot be removed, the next append ends it.
        if (done > 0 && ::ftruncate(descriptor_, static_cast<off_t>(size)) != 0) {
            is_new_to_us_ = true;
        }
        return fail("written", error);
    }
    return true;
}

bool LogFile::put_aside() {
    if (steady_milliseconds() < rotate_again_ms_) return false;
    int error = 0;
    if (keep_ == 0) {
        if (::unlink(path_.c_str()) != 0) error = errno;
    } else {
        auto name = [&](std::uint64_t number) { return path_ + "." + std::to_string(number); };
        // Overwrites the oldest file. If a number is missing, only files before the gap are
        // renamed.
        std::uint64_t last = 1;
        while (last < keep_ && ::access(name(last).c_str(), F_OK) == 0) ++last;
        for (std::uint64_t number = last; number > 1 && error == 0; --number) {
            if (::rename(name(number - 1).c_str(), name(number).c_str()) != 0) error = errno;
        }
        if (error == 0 && ::rename(path_.c_str(), name(1).c_str()) != 0) error = errno;
    }
    if (error != 0) {
        rotation_problem_ = "\"" + path_ +
                            "\" is full but cannot be rotated, so it grows further: " +
                            std::error_code(error, std::generic_category()).message();
        rotate_again_ms_ = steady_milliseconds() + kRotateAgainMs;
        return false;
    }
    rotation_problem_.clear();
    close();
    return true;
}

LogFile::Outcome LogFile::append(std::string& lines) {
    std::size_t begin = 0;
    Outcome outcome = Outcome::Written;
    while (begin < lines.size()) {
        outcome = is_locked_ ? Outcome::Written : lock();
        if (outcome != Outcome::Written) break;
        struct stat status {};
        if (::fstat(descriptor_, &status) != 0) {
            fail("examined", errno);
            outcome = Outcome::Failed;
            break;
        }
        auto size = static_cast<std::uint64_t>(status.st_size);
        if (!end_torn_line(size)) {
            outcome = Outcome::Failed;
            break;
        }

        // Write as many whole lines as fit in the file.
        std::size_t end = lines.size();
        if (max_bytes_ != 0 && end - begin > max_bytes_ - std::min(size, max_bytes_)) {
            const auto room = static_cast<std::size_t>(max_bytes_ - std::min(size, max_bytes_));
            const std::size_t last =
                room == 0 ? std::string::npos : lines.rfind('\n', begin + room - 1);
            if (last != std::string::npos && last >= begin) {
                end = last + 1;
            } else if (size > 0 && put_aside()) {
                continue;
            } else if (rotation_problem_.empty()) {
                // A line larger than the limit gets its own file.
                end = lines.find('\n', begin) + 1;
            }
        }
        if (!write_chunk(lines.data() + begin, end - begin, size)) {
            outcome = Outcome::Failed;
            break;
        }
        begin = end;
    }
    lines.erase(0, begin);
    unlock();
    return outcome;
}

}  // namespace narratoria::plugins
