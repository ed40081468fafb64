// SPDX-License-Identifier: Apache-2.0
#pragma once
// Splits a text/event-stream (server-sent events) into the data of its events.

#include <functional>
#include <string>
#include <string_view>

namespace narratoria::llm {

class ServerEvents {
public:
    using OnData = std::function<void(std::string_view data)>;

    // Calls `on_data` for each event that is complete. The bytes may be split anywhere.
    void feed(std::string_view bytes, const OnData& on_data);
    // The stream has ended: calls `on_data` for an event without the empty line after it.
    void end(const OnData& on_data);

private:
    void take_line(const OnData& on_data);

    std::string line_;
    std::string data_;
    bool has_data_ = false;
    bool after_return_ = false;  // a \n that follows belongs to the same end of a line
};

}  // namespace narratoria::llm
