// SPDX-License-Identifier: Apache-2.0
#pragma once
// The bottom lines of a terminal, redrawn in place, with lasting lines scrolling by above them.
// Drawn at most 20 times a second. The terminal is never asked anything: its size comes from the
// kernel, at each drawing, so that a resized window is right at the next one.

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace narratoria::terminal {

// Whoever looks after a terminal while its cursor is hidden: a process may be stopped or end then.
class CursorKeeper {
public:
    virtual ~CursorKeeper() = default;
    // -1: no cursor is hidden any more.
    virtual void hides_cursor_on(int terminal) = 0;
    // The process was stopped and continued since the last call: what was on the terminal has
    // scrolled.
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

    // Columns a line may take.
    std::size_t width() const;
    // Lines that draw shows at once.
    std::size_t height() const;

    // A lasting line, without its newline; shown at the next drawing.
    void above(std::string_view line) {
        above_.append(line);
        above_ += '\n';
    }

    // When the next drawing is allowed.
    Clock::time_point allowed() const noexcept { return last_drawn_ + kInterval; }

    // Replaces the region by these lines, each of width() columns at most.
    void draw(const std::vector<std::string>& lines);

    // Takes the region off, leaves the lasting lines, and gives the cursor back.
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
    std::vector<std::size_t> drawn_columns_;  // of each line of the region as it stands
    Clock::time_point last_drawn_{};
    bool cursor_hidden_ = false;
};

}  // namespace narratoria::terminal
