// SPDX-License-Identifier: Apache-2.0
#pragma once
// The events of a tool, one per line (spec 000 §3 and §4, spec 004).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fault.hpp"
#include "base/json/tape.hpp"

namespace narratoria::event {

// The values equal those of the C ABI.
enum class Type : uint32_t { Log = 1, StatePatch = 2, Asset = 3, UiEvent = 4, Error = 5, Done = 6 };

const char* type_name(Type type);

enum class Field : uint8_t {
    Version,
    Type,
    RequestId,
    Timestamp,
    Level,
    Message,
    Fields,
    Patch,
    Nulls,
    AssetId,
    Kind,
    MediaType,
    Path,
    Metadata,
    Event,
    Payload,
    ErrorCode,
    ErrorMessage,
    Details,
    Ok,
    Summary,
    Result,
    Retry,
    Count,
};

// A valid event. Points into its line and into the decoder's tape, and is valid until the next
// decode(). An event that a runner made without a decoder has no fields.
struct Event {
    Type type = Type::Log;
    std::string_view line;  // the source bytes of the object

    // The value of a field, or an empty Value. The last of duplicate keys wins.
    json::Value field(Field field) const {
        const uint32_t index = fields[static_cast<size_t>(field)];
        return index == 0 ? json::Value() : json::Value(tape, index);
    }
    std::string_view text(Field which) const {
        const json::Value value = field(which);
        return value ? value.text() : std::string_view();
    }

    const json::Tape* tape = nullptr;
    uint32_t fields[static_cast<size_t>(Field::Count)] = {};
};

// Reads events from lines. Reuses its memory from line to line. Not thread-safe.
class Decoder {
public:
    // Reads one line. json::kPadding readable bytes must follow it. On success returns true and
    // sets `event`; on failure fault() has the reason.
    bool decode(std::string_view line, Event& event);
    const Fault& fault() const { return fault_; }

    // Returns all faults of a line, for document checks.
    Faults faults(std::string_view line);

    void shrink() { tape_.shrink(); }

private:
    bool read_event(Event& event) const;
    bool is_valid(Event& event) const;
    Faults list_faults(const Event& event) const;

    json::Tape tape_;
    Fault fault_;
};

// Returns up to 80 characters around an offset, as valid UTF-8 with control characters escaped.
std::string excerpt(std::string_view line, size_t byte);

}  // namespace narratoria::event
