// SPDX-License-Identifier: Apache-2.0
#pragma once
// Progress of a plan, for people, on standard error: live on a terminal, plain lines elsewhere.

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "io/message.hpp"
#include "live_region.hpp"
#include "narratoria/event.hpp"
#include "tool_board.hpp"

namespace narratoria::command {

class Progress {
public:
    // On standard error: live when it is a terminal that understands cursor movements.
    Progress();

    // The kinds of records it wants.
    static std::uint32_t wanted_kinds() noexcept;
    // The sink.
    void take(const Event& event);

    // Something that belongs to no tool.
    void tell(std::string_view message);

    // After a batch of events: writes what is due.
    void refresh();
    // When refresh has something to do although no event came.
    std::optional<LiveRegion::Clock::time_point> next_look() const;
    bool is_live() const noexcept { return live_ != nullptr; }

    // Leaves the lasting lines, and nothing else.
    void close();

private:
    void say(const std::string& line);
    void say_ended(const EndedTool& tool);

    Style style_;
    ToolBoard board_;
    std::unique_ptr<LiveRegion> live_;
    std::string plain_;
    std::unordered_map<std::string, std::string> last_errors_;  // of each tool that may try again
    bool changed_ = false;
};

}  // namespace narratoria::command
