// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes a plan's timeline in the Chrome trace format, for Perfetto (ui.perfetto.dev) and
// chrome://tracing. The plan has a track of its own. An attempt of a tool is a slice on the lowest
// free tool track; the tool's events are instants on it.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "narratoria/event.hpp"

namespace narratoria::command {

class Trace {
public:
    static constexpr std::string_view kBegin = R"({"displayTimeUnit":)";

    // Writes to a descriptor during the run. finish() completes the document.
    explicit Trace(int descriptor);

    static std::uint32_t wanted_kinds() noexcept;
    // Event sink.
    void record(const Event& event);

    // Writes the buffer if it is large.
    void flush();

    // Completes the document. Returns false, with errno set, if writing failed.
    bool finish();

private:
    struct Attempt {
        std::size_t lane;
        std::int64_t began;
        std::uint32_t number;
    };

    std::int64_t since_start(const Event& event);
    void add(const std::string& json);
    void name_track(std::uint64_t track, std::string_view name);
    void begin_attempt(const Event& event, std::int64_t now);
    void end_attempt(const std::string& tool, std::int64_t now, std::string_view body);
    void instant(const Event& event, std::int64_t now, std::string_view name,
                 std::string_view category, std::string_view arguments);

    int descriptor_;
    std::string buffer_;
    bool first_ = true;
    bool broken_ = false;
    int error_ = 0;
    std::int64_t start_ = -1;
    std::int64_t last_ = 0;
    bool plan_open_ = false;
    std::int64_t plan_began_ = 0;
    std::string plan_id_;
    std::vector<bool> lanes_;  // true: in use
    std::unordered_map<std::string, Attempt> running_;
    std::unordered_map<std::string, std::string> paths_;
};

}  // namespace narratoria::command
