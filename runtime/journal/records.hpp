// SPDX-License-Identifier: Apache-2.0
#pragma once
// The records of a turn. The journal stores them in the parts of the turn; a part can be read
// without earlier parts.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace narratoria::journal {

// Written into stores: the values never change.
enum class RecordKind : uint8_t {
    Event = 1,     // of the session's stream
    Patch = 2,     // merged into the state
    Nulls = 3,     // of the preceding patch (state/replacement.hpp)
    Question = 4,  // to the narrator, without the state and the tools
    Answer = 5,    // of the narrator: its plan
    Failure = 6,   // of the narrator: why it gave no plan
    ToolStarting =
        7,  // a tool that is not repeatable may have started: the body of its ToolStarted
};

// Record::event_type of a Failure.
constexpr uint8_t kFinalFailure = 1;     // asking again would not help
constexpr uint8_t kNarratorTimeout = 2;  // there was no answer in time

struct Record {
    RecordKind kind = RecordKind::Event;
    uint8_t event_kind = 0;  // nar_event.kind
    uint8_t event_type = 0;  // nar_event.type
    uint32_t attempt = 0;
    uint64_t seq = 0;
    int64_t time_us = 0;
    std::string_view plan_id;
    std::string_view tool_id;
    std::string_view body;
};

// Builds the parts of a turn, one after another.
class RecordWriter {
public:
    // If the body of an event contains the patch that was added last, and the event has the same
    // seq, the patch is not written a second time.
    void add(const Record& record);
    size_t size() const { return size_; }
    // Returns the part and begins the next one.
    std::string take();

private:
    void need(size_t more);
    void add_number(uint64_t value);
    void add_difference(uint64_t to, uint64_t from);
    void add_bytes(std::string_view bytes);
    void add_text(std::string_view text);
    std::string_view patch_in(const Record& event) const;

    std::string bytes_;  // begins with the part; the rest is unused capacity
    size_t size_ = 0;
    // Values of the previous record in this part; most records differ little from it.
    uint64_t seq_ = 0;
    int64_t time_us_ = 0;
    std::string plan_id_;
    std::string tool_id_;
    // The last patch in the part, and the address from which it was copied, which is only compared.
    size_t patch_at_ = 0;
    size_t patch_size_ = 0;  // 0: no patch
    uint64_t patch_seq_ = 0;
    uintptr_t patch_source_ = 0;
    std::string before_patch_;  // the text before the patch, of the last event without its patch
};

// Calls `take` with each record of a part; its texts are valid during the call. Returns false if the
// part is damaged.
bool each_record(std::string_view part, const std::function<void(const Record& record)>& take);

}  // namespace narratoria::journal
