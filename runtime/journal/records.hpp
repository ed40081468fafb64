// SPDX-License-Identifier: Apache-2.0
#pragma once
// The records of a turn. The journal stores them in the parts of the turn; a part can be read
// without earlier parts.

#include <cstdint>
#include <functional>
#include <memory>
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

// A part of a turn, in memory that another part can use later.
struct Part {
    std::unique_ptr<char[]> memory;
    size_t capacity = 0;
    size_t size = 0;

    std::string_view bytes() const { return {memory.get(), size}; }
};

// Builds the parts of a turn, one after another.
class RecordWriter {
public:
    void add(const Record& record);
    // Adds an event whose body contains the patch that was added last to this part. `patch` is the
    // view of it in the body; it is not written a second time.
    void add_around(const Record& event, std::string_view patch);
    size_t size() const { return part_.size; }
    // Returns the part and begins the next one, in the memory of `next`.
    Part take(Part next = {});

private:
    class Output;

    Output room_for(const Record& record);
    void put_head(Output& out, const Record& record, unsigned flags);

    Part part_;
    // Values of the previous record in this part; most records differ little from it.
    uint64_t seq_ = 0;
    int64_t time_us_ = 0;
    std::string plan_id_;
    std::string tool_id_;
    std::string before_patch_;  // the text before the patch, of the last event without its patch
};

// Calls `take` with each record of a part; its texts are valid during the call. Returns false if the
// part is damaged.
bool each_record(std::string_view part, const std::function<void(const Record& record)>& take);

}  // namespace narratoria::journal
