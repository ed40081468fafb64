// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tracks the running tools of a plan from the event stream, and formats lines that show them.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "narratoria/event.hpp"
#include "style.hpp"

namespace narratoria::terminal {

// The outcome of a tool, for display.
struct EndedTool {
    std::string name;
    std::string state;    // completed, failed, skipped, timeout
    std::string text;     // printable: its summary, or the reason for its failure
    std::string summary;  // printable, also of a tool that failed
    double seconds = 0;
    std::uint64_t retries = 0;
    std::uint64_t line = 0;  // in the script that invoked it; 0 for a tool of a plan
};

class ToolBoard {
public:
    // Takes a record of the event stream. It copies a tool's last log and parses it only when a
    // line is drawn, so that a million logs cost a million copies, not a million parses.
    void note(const Event& event);

    // The outcome in a tool_ended record. Call it before note().
    EndedTool ended(const Event& event) const;

    std::size_t running() const noexcept { return rows_.size(); }

    // One line for each running tool, the longest running first: at most `height` lines of at most
    // `width` columns.
    std::vector<std::string> lines(const Style& style, std::size_t width, std::size_t height) const;

private:
    using Clock = std::chrono::steady_clock;

    struct Row {
        std::uint64_t order = 0;
        Clock::time_point since;
        std::uint32_t attempt = 1;
        std::uint64_t line = 0;
        std::string log;
        std::string progress_log;
        std::string done;
    };

    std::string line(const std::string& name, const Row& row, const Style& style,
                     std::size_t name_width, std::size_t width) const;

    std::unordered_map<std::string, Row> rows_;
};

}  // namespace narratoria::terminal
