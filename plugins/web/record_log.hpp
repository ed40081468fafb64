// SPDX-License-Identifier: Apache-2.0
#pragma once
// The session's records, each encoded once, as the bytes that every browser gets: one line
// `data: {…}` a record. The newest part is in memory, the older one in an unlinked file.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace narratoria::web {

// A place in the log that no reader may go beyond at once: whole records, the last one's number.
struct Batch {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t last = 0;
};

class RecordLog {
public:
    // `warn` is told, once, when the file cannot be written; everything stays in memory then.
    RecordLog(std::size_t most_in_memory, std::function<void(const std::string&)> warn);
    RecordLog(const RecordLog&) = delete;
    ~RecordLog();

    // One record: `write(text)` adds it to the text, with its newline. One that does not come behind the last is left out: its number
    // was given already. Nothing is changed when it throws.
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

    // The number of the newest record; 0: there is none.
    std::uint64_t last() const noexcept { return ends_.empty() ? 0 : ends_.back().number; }

    // The records behind `after`, as many as `most` bytes hold, and at least one. Nothing: there are
    // none.
    std::optional<Batch> batch_behind(std::uint64_t after, std::size_t most) const;

    // Copies up to `room` bytes from `at`, which lies in a batch; -1: the file cannot be read.
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
