// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the tools of the plan that runs are doing now, kept from the event stream, and the lines
// that show it.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "narratoria/event.hpp"
#include "style.hpp"

namespace narratoria::terminal {

// How a tool ended, ready to be shown.
struct EndedTool {
    std::string name;
    std::string state;  // completed, failed, skipped, timeout
    std::string text;   // printable: its summary, or why not
    double seconds = 0;
    std::uint64_t retries = 0;
    std::uint64_t line = 0;  // of the script that invoked it; 0: a plan's tool
};

class ToolBoard {
public:
    // Takes a record of the stream. It keeps a tool's last log as it came, and looks into it only
    // when a line is drawn: a million logs cost a million copies, not a million parses.
    void note(const Event& event);

    // Of a tool_ended record, before it is noted.
    EndedTool ended(const Event& event) const;

    std::size_t running() const noexcept { return rows_.size(); }

    // One line for each running tool, the longest running first; at most `height`, each of `width`
    // columns at most.
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
