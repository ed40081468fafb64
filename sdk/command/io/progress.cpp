// SPDX-License-Identifier: Apache-2.0
#include "io/progress.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include "display.hpp"
#include "io/file.hpp"
#include "io/interruption.hpp"
#include "io/notice.hpp"
#include "json.hpp"

namespace narratoria::command {
namespace {

// The update interval of clocks on the screen.
constexpr std::chrono::milliseconds kClock{100};
constexpr std::size_t kPlainBatch = 64 * 1024;

}  // namespace

Progress::Progress() : style_(Style::for_descriptor(STDERR_FILENO)) {
    if (is_capable_terminal(STDERR_FILENO))
        live_ = std::make_unique<LiveRegion>(STDERR_FILENO, interruption::cursor_keeper());
}

std::uint32_t Progress::wanted_kinds() noexcept {
    return notice_kinds() |
           kinds(Kind::ToolStarted, Kind::ToolEnded, Kind::AttemptStarted, Kind::AttemptEnded);
}

void Progress::write_line(const std::string& line) {
    if (live_) {
        live_->above(line);
    } else {
        plain_ += line;
        plain_ += '\n';
        if (plain_.size() >= kPlainBatch) refresh();
    }
}

void Progress::warn(std::string_view message) {
    write_line(style_.yellow("warning: " + printable(message)));
    changed_ = true;
}

void Progress::on_event(const Event& event) {
    if (event.kind() == Kind::ToolEvent) {
        // A plan may have millions of tool events, so skip most of them early.
        const Type type = event.type();
        if (type == Type::Log || type == Type::Error) {
            if (const std::string line = notice_of(event, style_); !line.empty()) write_line(line);
        }
        if (type == Type::Done || (live_ && type == Type::Log)) {
            board_.note(event);
            changed_ = true;
        }
        return;
    }
    changed_ = true;
    const std::string name = printable(event.tool_id());
    switch (event.kind()) {
        case Kind::ToolStarted:
            if (!live_) {
                write_line(fmt::format("started {} ({})", name,
                                       one_line(json::read(event.body()), "toolPath")));
            }
            break;
        case Kind::AttemptStarted:
            if (event.attempt() > 1) {
                write_line(style_.yellow(fmt::format("retrying {}: attempt {}, after: {}", name,
                                                     event.attempt(), last_errors_[name])));
            }
            break;
        case Kind::AttemptEnded:
            last_errors_[name] = one_line(json::read(event.body()), "error");
            break;
        case Kind::ToolEnded:
            write_ended(board_.ended(event));
            last_errors_.erase(name);
            break;
        default:
            if (const std::string line = notice_of(event, style_); !line.empty()) write_line(line);
            break;
    }
    board_.note(event);
}

void Progress::write_ended(const EndedTool& tool) {
    std::string tail = tool.text.empty() ? "" : ": " + tool.text;
    if (tool.retries > 0)
        tail = fmt::format(" after {}{}", counted(tool.retries + 1, "attempt"), tail);
    if (tool.state == "completed") {
        write_line(fmt::format("{} {} {}{}", style_.green(live_ ? "✓" : "completed"),
                               style_.bold(tool.name), style_.dim("in " + duration(tool.seconds)),
                               tail));
    } else if (tool.state == "skipped") {
        write_line(fmt::format("{} {}{}", style_.dim(live_ ? "– skipped" : "skipped"),
                               style_.bold(tool.name), tail));
    } else {
        const std::string_view word = tool.state == "timeout" ? "timed out" : "failed";
        write_line(fmt::format(
            "{} {} {}{}", style_.red(live_ ? fmt::format("✗ {}", word) : std::string(word)),
            style_.bold(tool.name), style_.dim("in " + duration(tool.seconds)), tail));
    }
}

std::optional<LiveRegion::Clock::time_point> Progress::next_refresh() const {
    if (!live_) return std::nullopt;
    if (changed_) return live_->allowed();
    if (board_.running() > 0) return live_->allowed() + (kClock - LiveRegion::kInterval);
    return std::nullopt;
}

void Progress::refresh() {
    if (!live_) {
        if (!plain_.empty()) write_all(STDERR_FILENO, plain_);
        plain_.clear();
        return;
    }
    const std::optional<LiveRegion::Clock::time_point> due = next_refresh();
    if (!due || LiveRegion::Clock::now() < *due) return;
    live_->draw(board_.lines(style_, live_->width(), live_->height()));
    changed_ = false;
}

void Progress::close() {
    if (live_) {
        live_->close();
    } else {
        refresh();
    }
}

}  // namespace narratoria::command
