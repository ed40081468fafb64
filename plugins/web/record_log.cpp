// SPDX-License-Identifier: Apache-2.0
#include "web/record_log.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

namespace narratoria::web {
namespace {

// Creates an unlinked file in TMPDIR. Returns -1 and sets errno on failure.
int make_unnamed_file() {
    const char* folder = std::getenv("TMPDIR");
    if (folder == nullptr || *folder == '\0') folder = "/tmp";
    const int file = ::open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return file;
    std::string name = std::string(folder) + "/narratoria-web-XXXXXX";
    const int named = ::mkostemp(name.data(), O_CLOEXEC);
    if (named >= 0) ::unlink(name.c_str());
    return named;
}

// Checks RLIMIT_FSIZE: a write beyond it raises SIGXFSZ, which kills the process by default.
bool is_within_limit(std::uint64_t end) {
    rlimit limit{};
    if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return true;
    if (end <= limit.rlim_cur) return true;
    errno = EFBIG;
    return false;
}

}  // namespace

RecordLog::RecordLog(std::size_t most_in_memory, std::function<void(const std::string&)> warn)
    : most_in_memory_(most_in_memory), warn_(std::move(warn)) {}

RecordLog::~RecordLog() {
    if (file_ >= 0) ::close(file_);
}

// Moves the older part to the file and keeps the newest half of `most_in_memory_`. On failure the
// records stay in memory.
void RecordLog::spool() noexcept {
    // After a failure, wait for more data instead of retrying with each record.
    if (tail_.size() < next_try_) return;
    const std::size_t count = tail_.size() - most_in_memory_ / 2;
    if (file_ < 0) file_ = make_unnamed_file();
    bool is_written = file_ >= 0 && is_within_limit(tail_begin_ + count);
    for (std::size_t done = 0; is_written && done < count;) {
        const ssize_t wrote = ::pwrite(file_, tail_.data() + done, count - done,
                                       static_cast<off_t>(tail_begin_ + done));
        if (wrote > 0) done += static_cast<std::size_t>(wrote);
        else is_written = wrote < 0 && errno == EINTR;
    }
    if (is_written) {
        tail_.erase(0, count);
        tail_begin_ += count;
        next_try_ = 0;
        if (tail_.capacity() > 4 * most_in_memory_) tail_.shrink_to_fit();
        return;
    }
    const int error = errno;
    next_try_ = tail_.size() + most_in_memory_;
    if (std::exchange(has_warned_, true)) return;
    try {
        warn_("the older records stay in memory, because no file in TMPDIR can be written: " +
              std::error_code(error, std::generic_category()).message());
    } catch (...) {
        // A lost warning is harmless.
    }
}

std::optional<Batch> RecordLog::batch_after(std::uint64_t after, std::size_t most) const {
    const auto first = std::upper_bound(
        ends_.begin(), ends_.end(), after,
        [](std::uint64_t number, const End& record) { return number < record.number; });
    if (first == ends_.end()) return std::nullopt;
    const std::uint64_t begin = first == ends_.begin() ? 0 : std::prev(first)->offset;
    auto end = std::upper_bound(
        first, ends_.end(), begin + most,
        [](std::uint64_t offset, const End& record) { return offset < record.offset; });
    if (end == first) ++end;
    return Batch{begin, std::prev(end)->offset, std::prev(end)->number};
}

ssize_t RecordLog::read(std::uint64_t at, char* buffer, std::size_t room) const noexcept {
    if (at >= tail_begin_) {
        const std::size_t from = std::min<std::size_t>(at - tail_begin_, tail_.size());
        const std::size_t count = std::min(room, tail_.size() - from);
        std::memcpy(buffer, tail_.data() + from, count);
        return static_cast<ssize_t>(count);
    }
    const std::size_t count =
        static_cast<std::size_t>(std::min<std::uint64_t>(room, tail_begin_ - at));
    ssize_t got = 0;
    do {
        got = ::pread(file_, buffer, count, static_cast<off_t>(at));
    } while (got < 0 && errno == EINTR);
    // The file has everything before tail_begin_, so an end of file is an error.
    return got > 0 ? got : -1;
}

}  // namespace narratoria::web
