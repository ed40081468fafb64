// SPDX-License-Identifier: Apache-2.0
#pragma once
// The results of tools that have ended in an open execution. A script may call a million tools, so
// a result is stored in few bytes, and becomes an entry of the execution result only when that is
// written.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan/event_log.hpp"

namespace narratoria::plan {

struct ToolResult;

// Append-only. Results beyond EventSpool::kInMemory go to an unlinked file. Engine thread only.
class EndedTools {
public:
    // Adds a result with these events, separated by commas, instead of its own. `before`: see
    // Reader::next().
    void add(const ToolResult& tool, std::string_view events, uint32_t before) {
        const bool is_plain = is_plain_done(tool, events);
        add(tool, is_plain ? nullptr : &events, before);
    }
    // The same for a tool with write_plain_done() as its only event.
    void add_plain(const ToolResult& tool, uint32_t before) { add(tool, nullptr, before); }
    // Writes the event of a tool that reports only its success and its result.
    static void write_plain_done(std::string& out, const ToolResult& tool);

    // The number of bytes of all events.
    uint64_t event_bytes() const { return event_bytes_; }
    // Bytes of memory held for the results.
    uint64_t memory() const;

    // Reads the results in the order of add().
    class Reader {
    public:
        explicit Reader(const EndedTools& tools) : tools_(tools) {}
        // False at the end, or if the file cannot be read. `before`: the index in Result::tools of
        // the result that follows this one.
        bool next(ToolResult& tool, uint32_t& before);
        bool has_failed() const { return has_failed_; }

    private:
        bool next_block();

        const EndedTools& tools_;
        size_t block_ = 0;       // number of blocks read or being read
        std::string_view rest_;  // unread part of the current block
        std::string from_file_;
        bool has_failed_ = false;
    };

private:
    static constexpr size_t kBlock = 64 * 1024;

    // Extents and blocks hold whole results.
    struct Extent {
        uint64_t offset;
        uint64_t size;
    };
    static bool is_plain_done(const ToolResult& tool, std::string_view event);
    void add(const ToolResult& tool, const std::string_view* events, uint32_t before);
    void end_block();

    EventSpool spool_;
    std::vector<Extent> extents_;      // the oldest results, in the file
    std::vector<std::string> blocks_;  // the results after those
    std::string last_;                 // the latest results
    uint64_t event_bytes_ = 0;
};

}  // namespace narratoria::plan
