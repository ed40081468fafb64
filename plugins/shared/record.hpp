// SPDX-License-Identifier: Apache-2.0
#pragma once
// A record of the event stream as a line of JSON (abi/schemas/event-record-1.schema.json).

#include <narratoria/plugin.hpp>

#include <cstdint>
#include <string>

namespace narratoria::plugins {

class RecordWriter {
public:
    // Appends the record and a newline; nothing when it throws.
    void append(std::string& out, const plugin::Event& event);

private:
    void append_time(std::string& out, std::int64_t microseconds);

    // Records come many to a second: its text is kept.
    std::int64_t second_ = INT64_MIN;
    std::string second_text_;
};

}  // namespace narratoria::plugins
