// SPDX-License-Identifier: Apache-2.0
#pragma once
// The session's records, each encoded once as one `data: {…}` line, the bytes sent to every
// browser. The newest records are in memory, older ones in an unlinked file.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace narratoria::web {

// A range of whole records, [begin, end) in bytes, that is sent as one message. `last` is the
// number of its last record.
struct Batch {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t last = 0;
};

class RecordLog {
public:
    // Calls `warn` once if the file cannot be written. All records stay in memory then.
    RecordLog(std::size_t most_in_memory, std::function<void(const std::string&)> warn);
    RecordLog(const RecordLog&) = delete;
    ~RecordLog();

    // Appends one record; `write(text)` appends it to `text`, with its newline. Ignores a record
    // whose number is not larger than last(). Strong exception guarantee.
    template <class Write>
    void append(std::uint64_t number, Write&& write) {
        if (!ends_.empty() && number <= ends_.back().number) return;
        const std::size_t before = tail_.size();
        try {
            tail_ += "data: ";
            write(tail_);
            ends_.push_back({number, tail_begin_ + tail_.size()});
        } catch (...) {
            tail_.resize(before);
            throw;
        }
        if (tail_.size() > most_in_memory_) spool();
    }

    // The number before the oldest record: not 0 in a game that continues. 0 without a record.
    std::uint64_t begins_after() const noexcept {
        return ends_.empty() ? 0 : ends_.front().number - 1;
    }
    // The number of the newest record, or 0 without one.
    std::uint64_t last() const noexcept { return ends_.empty() ? 0 : ends_.back().number; }

    // The records after number `after`, up to `most` bytes, but at least one. Nothing if there are
    // no such records.
    std::optional<Batch> batch_after(std::uint64_t after, std::size_t most) const;

    // Copies up to `room` bytes from offset `at` in a batch. -1 if the file cannot be read.
    ssize_t read(std::uint64_t at, char* buffer, std::size_t room) const noexcept;

    std::size_t in_memory() const noexcept { return tail_.size(); }

private:
    struct End {
        std::uint64_t number;
        std::uint64_t offset;
    };

    void spool() noexcept;

    const std::size_t most_in_memory_;
    const std::function<void(const std::string&)> warn_;
    bool has_warned_ = false;
    std::deque<End> ends_;
    std::string tail_;
    std::uint64_t tail_begin_ = 0;
    std::size_t next_try_ = 0;
    int file_ = -1;
};

}  // namespace narratoria::web
