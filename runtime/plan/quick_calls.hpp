// SPDX-License-Identifier: Apache-2.0
#pragma once
// The record of the tools that answered at once. A script may call a million of them, so a call is kept
// as a few bytes, and becomes an entry of the result only when the result is written.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan/event_log.hpp"

namespace narratoria::plan {

// Append-only. Beyond EventSpool::kInMemory they go to an unlinked file. Engine thread only.
class QuickCalls {
public:
    // Each of them has completed. Has no padding: it is kept byte for byte.
    struct Call {
        int64_t started_us;
        uint32_t before;  // the index in Result::tools of the tool behind it
        uint32_t number;  // in its toolId
        uint32_t line;
        uint32_t execution_ms;
        uint32_t name;         // of its skill, from number_of()
        uint32_t result_size;  // 0: it had no result
    };

    // The only event of a call.
    static std::string done_event(std::string_view result);

    // The number of a skill.
    uint32_t number_of(std::string_view skill);
    const std::string& skill(uint32_t name) const { return skills_[name]; }

    // `result`: JSON, of Call::result_size bytes.
    void add(const Call& call, std::string_view result);
    // About the bytes of their events.
    uint64_t event_bytes() const { return results_ + count_ * kEvent; }

    // Bytes of memory held for them.
    uint64_t memory() const;

    // Reads them in the order of add().
    class Reader {
    public:
        explicit Reader(const QuickCalls& calls) : calls_(calls) {}
        // False: there is no more, or the file cannot be read. `result` is valid until the next call.
        bool next(Call& call, std::string_view& result);
        bool has_failed() const { return has_failed_; }

    private:
        bool next_block();

        const QuickCalls& calls_;
        size_t block_ = 0;       // how many were begun
        std::string_view rest_;  // of the block
        std::string from_file_;
        bool has_failed_ = false;
    };

private:
    static constexpr size_t kBlock = 64 * 1024;
    static constexpr uint64_t kEvent = 50;  // of a `done` without its result

    // Each holds whole calls.
    struct Extent {
        uint64_t offset;
        uint64_t size;
    };
    void end_block();

    EventSpool spool_;
    std::vector<Extent> extents_;      // the oldest calls, in the file
    std::vector<std::string> blocks_;  // those after them
    std::string last_;                 // the latest ones
    std::vector<std::string> skills_;
    uint64_t count_ = 0;
    uint64_t results_ = 0;
};

}  // namespace narratoria::plan
