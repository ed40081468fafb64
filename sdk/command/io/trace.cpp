// SPDX-License-Identifier: Apache-2.0
#include "io/trace.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>

#include "io/file.hpp"
#include "io/message.hpp"
#include "json.hpp"

namespace narratoria::command {
namespace {

constexpr std::size_t kBatch = 256 * 1024;
constexpr std::uint64_t kPlanTrack = 0;

std::uint64_t track_of_lane(std::size_t lane) { return lane + 1; }

}  // namespace

Trace::Trace(int descriptor) : descriptor_(descriptor) {
    buffer_ = std::string(kBegin) + "\"ms\",\"traceEvents\":[\n";
    add(R"({"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"narratoria"}})");
    name_track(kPlanTrack, "plan");
}

std::uint32_t Trace::wanted_kinds() noexcept {
    return kinds(Kind::ToolEvent, Kind::PlanStarted, Kind::PlanEnded, Kind::ToolStarted,
                 Kind::ToolEnded, Kind::AttemptStarted, Kind::AttemptEnded, Kind::AssetRefused,
                 Kind::StateConflict, Kind::Warning);
}

std::int64_t Trace::since_start(const Event& event) {
    const std::int64_t time = event.raw().time_us;
    if (start_ < 0) start_ = time;
    // Records have wall-clock times, which may go back. The timeline must not.
    last_ = std::max(last_, time - start_);
    return last_;
}

void Trace::add(const std::string& json) {
    if (!first_) buffer_ += ",\n";
    first_ = false;
    buffer_ += json;
    if (buffer_.size() >= kBatch) flush();
}

void Trace::name_track(std::uint64_t track, std::string_view name) {
    add(fmt::format(R"({{"ph":"M","name":"thread_name","pid":1,"tid":{},"args":{{"name":{}}}}})",
                    track, json::quoted(name)));
    add(fmt::format(
        R"({{"ph":"M","name":"thread_sort_index","pid":1,"tid":{},"args":{{"sort_index":{}}}}})",
        track, track));
}

void Trace::begin_attempt(const Event& event, std::int64_t now) {
    const auto free = std::find(lanes_.begin(), lanes_.end(), false);
    const auto lane = static_cast<std::size_t>(free - lanes_.begin());
    if (free == lanes_.end()) {
        lanes_.push_back(true);
        name_track(track_of_lane(lane), fmt::format("tools {}", lane + 1));
    } else {
        *free = true;
    }
    running_[std::string(event.tool_id())] = Attempt{lane, now, event.attempt()};
}

void Trace::end_attempt(const std::string& tool, std::int64_t now, std::string_view body) {
    const auto found = running_.find(tool);
    if (found == running_.end()) return;
    const Attempt attempt = found->second;
    running_.erase(found);
    lanes_[attempt.lane] = false;
    const std::string name =
        attempt.number <= 1 ? tool : fmt::format("{} (attempt {})", tool, attempt.number);
    const auto path = paths_.find(tool);
    add(fmt::format(
        R"({{"ph":"X","name":{},"cat":"attempt","pid":1,"tid":{},"ts":{},"dur":{},"args":{{"toolId":{},"toolPath":{},"attempt":{},"ended":{}}}}})",
        json::quoted(name), track_of_lane(attempt.lane), attempt.began, now - attempt.began,
        json::quoted(tool), json::quoted(path != paths_.end() ? path->second : std::string()),
        attempt.number, body.empty() ? "null" : body));
}

void Trace::instant(const Event& event, std::int64_t now, std::string_view name,
                    std::string_view category, std::string_view arguments) {
    const auto running = running_.find(std::string(event.tool_id()));
    const std::uint64_t track =
        running != running_.end() ? track_of_lane(running->second.lane) : kPlanTrack;
    add(fmt::format(
        R"({{"ph":"i","s":"t","name":{},"cat":{},"pid":1,"tid":{},"ts":{},"args":{{"toolId":{},"body":{}}}}})",
        json::quoted(name), json::quoted(category), track, now, json::quoted(event.tool_id()),
        arguments));
}

void Trace::record(const Event& event) {
    const std::int64_t now = since_start(event);
    const std::string tool(event.tool_id());
    switch (event.kind()) {
        case Kind::PlanStarted:
            plan_open_ = true;
            plan_began_ = now;
            plan_id_ = event.plan_id();
            break;
        case Kind::PlanEnded:
            add(fmt::format(
                R"({{"ph":"X","name":{},"cat":"plan","pid":1,"tid":{},"ts":{},"dur":{},"args":{}}})",
                json::quoted("plan " + plan_id_), kPlanTrack, plan_began_, now - plan_began_,
                event.body()));
            plan_open_ = false;
            break;
        case Kind::ToolStarted:
            paths_[tool] = json::text(json::read(event.body()), "toolPath");
            break;
        case Kind::AttemptStarted: begin_attempt(event, now); break;
        case Kind::AttemptEnded: end_attempt(tool, now, event.body()); break;
        case Kind::ToolEnded: paths_.erase(tool); break;
        case Kind::ToolEvent: {
            // Skip patches: they are most of a stream and not useful on a timeline. Skip done: the
            // slice ends there.
            if (event.type() == Type::StatePatch || event.type() == Type::Done) break;
            const json::Document body = json::read(event.body());
            if (event.type() == Type::Log) {
                instant(event, now, json::text(body, "message"), "log", event.body());
            } else if (event.type() == Type::Error) {
                instant(event, now, json::text(body, "errorCode"), "error", event.body());
            } else if (event.type() == Type::Asset) {
                instant(event, now, json::text(body, "assetId"), "asset", event.body());
            } else if (event.type() == Type::UiEvent) {
                instant(event, now, json::text(body, "event"), "ui_event", event.body());
            }
            break;
        }
        case Kind::AssetRefused:
        case Kind::StateConflict:
        case Kind::Warning: instant(event, now, event.kind_name(), "runtime", event.body()); break;
        default: break;
    }
}

void Trace::flush() {
    if (!broken_ && !write_all(descriptor_, buffer_)) {
        broken_ = true;
        error_ = errno;
    }
    buffer_.clear();
}

bool Trace::finish() {
    // Write the slices that are still open. They end with the trace.
    std::vector<std::string> open;
    for (const auto& [tool, attempt] : running_) open.push_back(tool);
    std::sort(open.begin(), open.end());
    for (const std::string& tool : open) end_attempt(tool, last_, "");
    if (plan_open_) {
        add(fmt::format(
            R"({{"ph":"X","name":{},"cat":"plan","pid":1,"tid":{},"ts":{},"dur":{},"args":{{}}}})",
            json::quoted("plan " + plan_id_), kPlanTrack, plan_began_, last_ - plan_began_));
    }
    buffer_ += fmt::format("\n],\"otherData\":{{\"startedAtMicrosecondsSinceEpoch\":\"{}\"}}}}\n",
                           std::max<std::int64_t>(start_, 0));
    flush();
    if (broken_) errno = error_;
    return !broken_;
}

}  // namespace narratoria::command
