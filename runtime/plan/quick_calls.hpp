// SPDX-License-Identifier: Apache-2.0
#pragma once
// The record of tools that answered at once. A script may call a million of them, so a call is
// stored in a few bytes, and becomes an entry of the result only when the result is written.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan/event_log.hpp"

namespace narratoria::plan {

// Append-only. Calls beyond EventSpool::kInMemory go to an unlinked file. Engine thread only.
class QuickCalls {
public:
    // A completed call. Must not have padding, because it is stored as bytes.
    struct Call {
        int64_t started_us;
        uint32_t before;  // the index in Result::tools of the tool that follows it in the result
        uint32_t number;  // in its toolId
        uint32_t line;
        uint32_t execution_ms;
        uint32_t name;         // number of its skill, from number_of()
        uint32_t result_size;  // 0: no result
    };

    // The only event of a call.
    static std::string done_event(std::string_view result);

    // Returns the number of a skill; adds the skill if it is new.
    uint32_t number_of(std::string_view skill);
    const std::string& skill(uint32_t name) const { return skills_[name]; }

    // `result`: JSON, of Call::result_size bytes.
    void add(const Call& call, std::string_view result);
    // The approximate number of bytes of the calls' events.
    uint64_t event_bytes() const { return results_ + count_ * kEvent; }

    // Bytes of memory held for the calls.
    uint64_t memory() const;

    // Reads the calls in the order of add().
    class Reader {
    public:
        explicit Reader(const QuickCalls& calls) : calls_(calls) {}
        // False at the end, or if the file cannot be read. `result` is valid until the next call.
        bool next(Call& call, std::string_view& result);
        bool has_failed() const { return has_failed_; }

    private:
        bool next_block();

        const QuickCalls& calls_;
        size_t block_ = 0;       // number of blocks read or being read
        std::string_view rest_;  // unread part of the current block
        std::string from_file_;
        bool has_failed_ = false;
    };

private:
    static constexpr size_t kBlock = 64 * 1024;
    static constexpr uint64_t kEvent = 50;  // bytes of a `done` without its result

    // Extents and blocks hold whole calls.
    struct Extent {
        uint64_t offset;
        uint64_t size;
    };
    void end_block();

    EventSpool spool_;
    std::vector<Extent> extents_;      // the oldest calls, in the file
    std::vector<std::string> blocks_;  // the calls after those
    std::string last_;                 // the latest calls
    std::vector<std::string> skills_;
    uint64_t count_ = 0;
    uint64_t results_ = 0;
};

}  // namespace narratoria::plan
