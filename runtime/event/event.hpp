// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a tool says: one event a line (spec 000 §3 and §4, spec 004).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fault.hpp"
#include "base/json/tape.hpp"

namespace narratoria::event {

// The numbers are those of the C ABI.
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
    Count,
};

// A valid event. It points into its line and the decoder's tape.
struct Event {
    Type type = Type::Log;
    std::string_view line;  // the object, byte for byte

    // The value of a field, or nothing. Of duplicate keys the last one counts.
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

class Decoder {
public:
    // Reads one line: true and `event`, or false and fault().
    bool decode(std::string_view line, Event& event);
    const Fault& fault() const { return fault_; }

    // Every fault of a line, for those who check documents.
    Faults faults(std::string_view line);

    void shrink() { tape_.shrink(); }

private:
    bool read_event(Event& event) const;
    bool is_valid(Event& event) const;
    Faults list_faults(const Event& event) const;

    json::Tape tape_;
    Fault fault_;
};

// Up to 80 characters around a byte, in valid UTF-8 with control characters made visible.
std::string excerpt(std::string_view line, size_t byte);

}  // namespace narratoria::event
