// SPDX-License-Identifier: Apache-2.0
#pragma once
// The events of each tool, kept verbatim for the result. Above a limit they go to a file that has
// no name, and from there into the result without passing through memory.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.hpp"

namespace narratoria::plan {

// What the logs of one execution share.
class EventSpool {
public:
    static constexpr uint64_t kInMemory = 8u * 1024 * 1024;

    bool over_limit() const { return in_memory_ > kInMemory; }
    uint64_t total() const { return in_memory_ + file_size_; }

private:
    friend class EventLog;
    // False when the file system refuses; the events then stay in memory.
    bool append(std::string_view bytes, uint64_t& offset);
    void reserve(uint64_t size);

    uint64_t in_memory_ = 0;
    Descriptor file_;
    uint64_t file_size_ = 0;
    uint64_t reserved_ = 0;  // bytes of the file for which the disk was asked, granted or not
    bool refused_ = false;
};

// Where a result is written to.
class Output {
public:
    virtual ~Output() = default;
    virtual bool write(std::string_view piece) = 0;
    // The bytes [offset, offset + size) of a file.
    virtual bool write_file(int file, uint64_t offset, uint64_t size) = 0;
};

class EventLog {
public:
    explicit EventLog(std::shared_ptr<EventSpool> spool) : spool_(std::move(spool)) {}

    void add(std::string_view event);
    // No more will come: nothing is kept that is not needed.
    void settle();
    uint64_t count() const { return count_; }
    // What it holds in memory, used or not.
    uint64_t allocated() const;

    // The events, separated by commas.
    bool write(Output& output) const;

private:
    static constexpr size_t kChunk = 64 * 1024;
    static constexpr size_t kBlock = 256 * 1024;  // what a file is best written in

    struct Extent {
        uint64_t offset;
        uint64_t size;
    };

    void spill();

    std::shared_ptr<EventSpool> spool_;
    std::vector<Extent> extents_;      // the oldest events
    std::vector<std::string> chunks_;  // those behind them
    std::string tail_;                 // the latest
    uint64_t count_ = 0;
};

}  // namespace narratoria::plan
