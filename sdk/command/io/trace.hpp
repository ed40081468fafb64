// SPDX-License-Identifier: Apache-2.0
#pragma once
// A plan's timeline in the Chrome trace format, for Perfetto (ui.perfetto.dev) and
// chrome://tracing. One track for the plan, and one for each tool that ran at the same time as
// others: an attempt is a slice on the lowest free track, what a tool said is an instant on it.

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

    // Writes to a descriptor, as things happen; finish() makes the document whole.
    explicit Trace(int descriptor);

    static std::uint32_t wanted_kinds() noexcept;
    // The sink.
    void take(const Event& event);

    // Writes what is collected, when it is much.
    void flush();

    // Ends the document. False: it could not be written; errno says why.
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
    std::vector<bool> lanes_;  // taken
    std::unordered_map<std::string, Attempt> running_;
    std::unordered_map<std::string, std::string> paths_;
};

}  // namespace narratoria::command
