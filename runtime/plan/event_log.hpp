// SPDX-License-Identifier: Apache-2.0
#pragma once
// The events of each tool, kept verbatim for the result. Above a memory limit they go to an
// unlinked file, from which they are copied into the result without passing through memory.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.hpp"

namespace narratoria::plan {

// The memory count and the file, shared by all logs of one execution. Engine thread only.
class EventSpool {
public:
    static constexpr uint64_t kInMemory = 8u * 1024 * 1024;

    bool over_limit() const { return in_memory_ > kInMemory; }
    uint64_t total() const { return in_memory_ + file_size_; }

private:
    friend class EventLog;
    friend class EndedTools;
    // Returns false if the file cannot be written; the events then stay in memory.
    bool append(std::string_view bytes, uint64_t& offset);
    void reserve(uint64_t size);

    uint64_t in_memory_ = 0;
    Descriptor file_;
    uint64_t file_size_ = 0;
    uint64_t reserved_ = 0;  // bytes requested with fallocate, even if it failed
    bool refused_ = false;
};

// Receives the text of a result. write functions return false to stop.
class Output {
public:
    virtual ~Output() = default;
    virtual bool write(std::string_view piece) = 0;
    // Writes the bytes [offset, offset + size) of a file.
    virtual bool write_file(int file, uint64_t offset, uint64_t size) = 0;
};

// The log of one tool. Append-only. Keeps the spool alive, because a result outlives its execution.
class EventLog {
public:
    explicit EventLog(std::shared_ptr<EventSpool> spool) : spool_(std::move(spool)) {}

    void add(std::string_view event);
    // Call after the last event: releases unused memory.
    void settle();
    uint64_t count() const { return count_; }
    // The events, separated by commas, if they are few. Valid until add().
    std::optional<std::string_view> if_few() const {
        if (!extents_.empty() || !chunks_.empty()) return std::nullopt;
        return tail_;
    }
    // Drops events that are few.
    void drop();
    // Bytes of memory held, used or not.
    uint64_t allocated() const;

    // Writes the events, separated by commas. False if the output stopped.
    bool write(Output& output) const;

private:
    static constexpr size_t kChunk = 64 * 1024;
    static constexpr size_t kBlock = 256 * 1024;  // a good size for one write to a file

    struct Extent {
        uint64_t offset;
        uint64_t size;
    };

    void spill();

    std::shared_ptr<EventSpool> spool_;
    std::vector<Extent> extents_;      // the oldest events
    std::vector<std::string> chunks_;  // the events after those
    std::string tail_;                 // the latest events
    uint64_t count_ = 0;
};

}  // namespace narratoria::plan
