// SPDX-License-Identifier: Apache-2.0
#include "tool_board.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "display.hpp"
#include "json.hpp"

namespace narratoria::terminal {
namespace {

constexpr std::size_t kBarColumns = 12;
constexpr std::size_t kLongestName = 24;

constexpr std::string_view kSpinner[] = {"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"};

std::string padded(std::string text, std::size_t width) {
    const std::size_t used = columns(text);
    if (used < width) text.append(width - used, ' ');
    return text;
}

std::string bar(double progress, const Style& style) {
    const auto filled = static_cast<std::size_t>(std::lround(progress * kBarColumns));
    std::string full;
    std::string empty;
    for (std::size_t index = 0; index < filled; ++index) full += "█";
    for (std::size_t index = filled; index < kBarColumns; ++index) empty += "░";
    return fmt::format("{}{} {:3.0f}%", style.green(full), style.dim(empty),
                       std::floor(progress * 100));
}

std::optional<double> progress_in(const std::string& log) {
    if (log.empty()) return std::nullopt;
    const json::Document body = json::read(log);
    const json::Value* fields = json::member(body, "fields");
    if (fields == nullptr) return std::nullopt;
    const std::optional<double> progress = json::number(*fields, "progress");
    if (!progress || !(*progress >= 0 && *progress <= 1)) return std::nullopt;
    return progress;
}

}  // namespace

void ToolBoard::note(const Event& event) {
    const std::string name(event.tool_id());
    switch (event.kind()) {
        case Kind::ToolStarted: {
            Row row;
            row.order = event.seq();
            row.since = Clock::now();
            row.line = json::count(json::read(event.body()), "line");
            rows_[name] = std::move(row);
            break;
        }
        case Kind::AttemptStarted:
            if (const auto row = rows_.find(name); row != rows_.end()) {
                row->second.attempt = event.attempt();
                row->second.log.clear();
                row->second.progress_log.clear();
                row->second.done.clear();
            }
            break;
        case Kind::ToolEnded: rows_.erase(name); break;
        case Kind::ToolEvent: {
            const auto row = rows_.find(name);
            if (row == rows_.end()) break;
            if (event.type() == Type::Log) {
                row->second.log = event.body();
                if (event.body().find("\"progress\"") != std::string_view::npos) {
                    row->second.progress_log = event.body();
                }
            } else if (event.type() == Type::Done) {
                row->second.done = event.body();
            }
            break;
        }
        default: break;
    }
}

EndedTool ToolBoard::ended(const Event& event) const {
    const json::Document body = json::read(event.body());
    EndedTool tool;
    tool.name = printable(event.tool_id());
    tool.state = json::text(body, "state");
    tool.seconds = json::number(body, "executionTime").value_or(0) / 1000.0;
    tool.retries = json::count(body, "retryCount");
    const auto row = rows_.find(std::string(event.tool_id()));
    if (row != rows_.end()) {
        tool.line = row->second.line;
        if (!row->second.done.empty()) {
            tool.summary = printable(json::text(json::read(row->second.done), "summary"));
        }
    }
    tool.text = tool.state == "completed" ? tool.summary : printable(json::text(body, "error"));
    return tool;
}

std::string ToolBoard::line(const std::string& name, const Row& row, const Style& style,
                            std::size_t name_width, std::size_t width) const {
    const double seconds = std::chrono::duration<double>(Clock::now() - row.since).count();
    const auto frame = static_cast<std::size_t>(seconds * 10) % std::size(kSpinner);
    const std::string elapsed = padded(duration(seconds), 8);
    const std::string shown_name = padded(cut(printable(name), kLongestName), name_width);
    std::size_t used = 2 + name_width + 2 + columns(elapsed);
    if (used > width) return cut(fmt::format("{} {}", kSpinner[frame], shown_name), width);

    std::string out = fmt::format("{} {}  {}", style.cyan(kSpinner[frame]), style.bold(shown_name),
                                  style.dim(elapsed));
    if (const std::optional<double> progress = progress_in(row.progress_log);
        progress && used + kBarColumns + 7 <= width) {
        out += "  " + bar(*progress, style);
        used += kBarColumns + 7;
    }
    std::string message;
    if (row.attempt > 1) message = fmt::format("attempt {}", row.attempt);
    if (!row.log.empty()) {
        if (!message.empty()) message += ": ";
        message += printable(json::text(json::read(row.log), "message"));
    }
    if (!message.empty() && used + 4 <= width) out += "  " + cut(message, width - used - 2);
    return out;
}

std::vector<std::string> ToolBoard::lines(const Style& style, std::size_t width,
                                          std::size_t height) const {
    std::vector<const std::pair<const std::string, Row>*> ordered;
    ordered.reserve(rows_.size());
    for (const auto& entry : rows_) ordered.push_back(&entry);
    std::sort(ordered.begin(), ordered.end(), [](const auto* left, const auto* right) {
        return left->second.order < right->second.order;
    });
    const std::size_t shown =
        ordered.size() <= height ? ordered.size() : std::max<std::size_t>(height, 1) - 1;
    std::size_t name_width = 0;
    for (std::size_t index = 0; index < shown; ++index) {
        name_width =
            std::max(name_width, std::min(columns(printable(ordered[index]->first)), kLongestName));
    }
    std::vector<std::string> out;
    for (std::size_t index = 0; index < shown; ++index) {
        out.push_back(
            line(ordered[index]->first, ordered[index]->second, style, name_width, width));
    }
    if (shown < ordered.size()) {
        out.push_back(style.dim(cut(fmt::format("… and {} more", ordered.size() - shown), width)));
    }
    return out;
}

}  // namespace narratoria::terminal
