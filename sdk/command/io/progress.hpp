// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shows the progress of a plan on standard error: live on a terminal, otherwise as plain lines.

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
    // Live if standard error is a terminal that supports cursor movement.
    Progress();

    // The kinds of records that on_event() needs.
    static std::uint32_t wanted_kinds() noexcept;
    // Event sink.
    void on_event(const Event& event);

    // Shows a warning that does not belong to a tool.
    void warn(std::string_view message);

    // Writes pending output. Call it after each batch of events.
    void refresh();
    // The time at which refresh() must be called even without events, or nothing.
    std::optional<LiveRegion::Clock::time_point> next_refresh() const;
    bool is_live() const noexcept { return live_ != nullptr; }

    // Removes the live part; the permanent lines stay.
    void close();

private:
    void write_line(const std::string& line);
    void write_ended(const EndedTool& tool);

    Style style_;
    ToolBoard board_;
    std::unique_ptr<LiveRegion> live_;
    std::string plain_;
    std::unordered_map<std::string, std::string> last_errors_;  // of each tool that may retry
    bool changed_ = false;
};

}  // namespace narratoria::command
