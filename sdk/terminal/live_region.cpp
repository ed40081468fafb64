// SPDX-License-Identifier: Apache-2.0
#include "live_region.hpp"

#include <fmt/core.h>
#include <sys/ioctl.h>

#include <algorithm>

#include "display.hpp"
#include "output.hpp"

namespace narratoria::terminal {
namespace {

// The columns of a line that contains colour codes.
std::size_t shown_columns(std::string_view line) {
    std::size_t sum = 0;
    while (!line.empty()) {
        const std::size_t escape = std::min(line.find('\x1b'), line.size());
        sum += columns(line.substr(0, escape));
        line.remove_prefix(escape);
        if (line.empty()) break;
        const std::size_t end = line.find('m');
        line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
    }
    return sum;
}

}  // namespace

LiveRegion::Size LiveRegion::size() const {
    winsize window{};
    if (ioctl(terminal_, TIOCGWINSZ, &window) != 0 || window.ws_col == 0 || window.ws_row == 0) {
        return {80, 24};
    }
    return {window.ws_col, window.ws_row};
}

// Leaves one column free, because terminals differ in whether a full line wraps.
std::size_t LiveRegion::width() const { return std::max<std::size_t>(size().columns, 2) - 1; }

std::size_t LiveRegion::height() const { return std::max<std::size_t>(size().rows, 3) - 2; }

void LiveRegion::draw(const std::vector<std::string>& lines) {
    if (lines.empty() && drawn_columns_.empty() && above_.empty()) return;
    const Size now = size();
    std::string out;
    if (!cursor_hidden_ && !lines.empty()) {
        keeper_.hides_cursor_on(terminal_);
        out += "\x1b[?25l";
        cursor_hidden_ = true;
    } else if (cursor_hidden_ && keeper_.was_continued()) {
        out += "\x1b[?25l";
        drawn_columns_.clear();
    }
    // If the window became narrower, old lines may occupy several rows.
    std::size_t rows = 0;
    for (const std::size_t wide : drawn_columns_) {
        rows += std::max<std::size_t>(1, (wide + now.columns - 1) / now.columns);
    }
    rows = std::min(rows, now.rows - 1);
    out += '\r';
    if (rows > 0) out += fmt::format("\x1b[{}A", rows);
    out += "\x1b[J";
    std::size_t begin = 0;
    while (begin < above_.size()) {
        const std::size_t end = above_.find('\n', begin);
        out.append(above_, begin, end - begin);
        out += "\r\n";
        begin = end + 1;
    }
    above_.clear();
    drawn_columns_.clear();
    const std::size_t shown = std::min(lines.size(), height());
    for (std::size_t index = 0; index < shown; ++index) {
        out += lines[index];
        out += "\r\n";
        drawn_columns_.push_back(shown_columns(lines[index]));
    }
    write_all(terminal_, out);
    last_drawn_ = Clock::now();
}

void LiveRegion::close() {
    draw({});
    if (!cursor_hidden_) return;
    write_all(terminal_, "\x1b[?25h");
    keeper_.hides_cursor_on(-1);
    cursor_hidden_ = false;
}

}  // namespace narratoria::terminal
