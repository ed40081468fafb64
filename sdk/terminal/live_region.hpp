// SPDX-License-Identifier: Apache-2.0
#pragma once
// The bottom lines of a terminal, redrawn in place at most 20 times a second, with permanent lines
// scrolling above them. It never queries the terminal: each redraw gets the size from the kernel,
// so that a resized window is correct after the next redraw.

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace narratoria::terminal {

// Restores a hidden cursor when the process is stopped or ends.
class CursorKeeper {
public:
    virtual ~CursorKeeper() = default;
    // -1 means that the cursor is shown again.
    virtual void hides_cursor_on(int terminal) = 0;
    // True if the process was stopped and continued since the last call, so that the terminal's
    // content has scrolled.
    virtual bool was_continued() = 0;
};

class LiveRegion {
public:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::milliseconds kInterval{50};

    explicit LiveRegion(int terminal, CursorKeeper& keeper)
        : terminal_(terminal), keeper_(keeper) {}
    LiveRegion(const LiveRegion&) = delete;
    ~LiveRegion() { close(); }

    // The maximum number of columns of a line.
    std::size_t width() const;
    // The maximum number of lines of the region.
    std::size_t height() const;

    // Adds a permanent line, without its newline. It is shown at the next redraw.
    void above(std::string_view line) {
        above_.append(line);
        above_ += '\n';
    }

    // The earliest time of the next redraw.
    Clock::time_point allowed() const noexcept { return last_drawn_ + kInterval; }

    // Replaces the region by these lines, each of at most width() columns.
    void draw(const std::vector<std::string>& lines);

    // Erases the region, keeps the permanent lines, and shows the cursor.
    void close();

private:
    struct Size {
        std::size_t columns;
        std::size_t rows;
    };
    Size size() const;

    int terminal_;
    CursorKeeper& keeper_;
    std::string above_;
    std::vector<std::size_t> drawn_columns_;  // of each line that is currently shown
    Clock::time_point last_drawn_{};
    bool cursor_hidden_ = false;
};

}  // namespace narratoria::terminal
