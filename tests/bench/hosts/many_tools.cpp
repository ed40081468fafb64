// SPDX-License-Identifier: Apache-2.0
// many_tools PROGRAM TOOLS TICKS: runs TOOLS instances of every_100_ms concurrently. Prints the
// latency of their events, from the tool's write to the host's sink, and the memory that a tool
// costs the host.
//
// Only the time in which all tools run is judged. The start phase, with two processes for each
// tool, is reported separately.

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "memory.hpp"
#include "narratoria/engine.hpp"

using namespace narratoria;

namespace {

struct Arrival {
    uint64_t at_ns;
    uint64_t late_ns;
};

uint64_t now_ns() {
    return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                                 std::chrono::nanoseconds(1));
}

double milliseconds(uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e6; }

// Sorts `late` and returns the value at the given share.
double percentile(std::vector<uint64_t>& late, double share) {
    if (late.empty()) return 0;
    std::sort(late.begin(), late.end());
    const auto place = static_cast<size_t>(share * static_cast<double>(late.size() - 1));
    return milliseconds(late[place]);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fprintf(stderr, "usage: %s PROGRAM TOOLS TICKS\n", argv[0]);
        return 2;
    }
    const std::string program = argv[1];
    const auto tools = static_cast<uint32_t>(std::atoi(argv[2]));
    const std::string ticks = argv[3];
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);

    std::string plan = R"({"requestId":"many","narrative":"","parallel":true,"tools":[)";
    for (uint32_t i = 0; i < tools; ++i) {
        if (i > 0) plan += ',';
        plan += R"({"toolId":"t)" + std::to_string(i) + R"(","toolPath":")" + program +
                R"(","input":{"count":)" + ticks +
                R"(},"dependencies":[],"required":true,"async":true,)"
                R"("retryPolicy":{"maxRetries":0,"backoffMs":0}})";
    }
    plan += "]}";

    EngineOptions options;
    options.jobs = tools;
    Times times;
    times.plan_ms = NAR_NONE;
    times.try_ms = NAR_NONE;
    options.times = times;
    try {
        Engine engine(options);
        Session session(engine);
        std::vector<Arrival> arrivals;
        arrivals.reserve(size_t{tools} * (std::strtoul(ticks.c_str(), nullptr, 10) + 2));
        uint32_t heard = 0, ended = 0;
        std::vector<bool> spoke(tools, false);
        uint64_t all_at = 0, first_end = 0;
        uint64_t resident_then = 0;
        const std::string_view mark = "\"ns\":";
        session.attach(
            [&](Event event) noexcept {
                if (event.kind() == Kind::ToolEnded) {
                    if (ended++ == 0) first_end = now_ns();
                    return;
                }
                if (event.type() != Type::Log) return;
                const std::string_view body = event.body();
                const size_t place = body.find(mark);
                if (place == std::string_view::npos) return;
                const uint64_t written =
                    std::strtoull(body.data() + place + mark.size(), nullptr, 10);
                const uint64_t now = now_ns();
                arrivals.push_back({now, now > written ? now - written : 0});
                const auto tool = static_cast<size_t>(
                    std::strtoul(std::string(event.tool_id().substr(1)).c_str(), nullptr, 10));
                if (!spoke[tool]) {
                    spoke[tool] = true;
                    if (++heard == tools) {
                        all_at = now;
                        resident_then = bench::resident_bytes();
                    }
                }
            },
            kinds(Kind::ToolEvent, Kind::ToolEnded));
        Result result;
        const uint64_t before = bench::resident_bytes();
        const uint64_t begin = now_ns();
        session.execute(plan, {}, [&](Result done) { result = std::move(done); });
        while (!result) engine.run_once();
        engine.run_until_idle();

        std::vector<uint64_t> late, late_while_starting;
        for (const Arrival& arrival : arrivals) {
            if (all_at != 0 && arrival.at_ns > all_at && arrival.at_ns < first_end) {
                late.push_back(arrival.late_ns);
            } else if (all_at == 0 || arrival.at_ns <= all_at) {
                late_while_starting.push_back(arrival.late_ns);
            }
        }
        const bool together = all_at != 0 && all_at < first_end;
        // Excludes the benchmark's own list of arrivals.
        const uint64_t own = arrivals.size() * sizeof(Arrival);
        const uint64_t grown = resident_then > before + own ? resident_then - before - own : 0;
        std::printf(
            "{\"success\": %s, \"together\": %s, \"judged\": %zu, \"latestMs\": %.3f, "
            "\"p999Ms\": %.3f, \"p99Ms\": %.3f, \"medianMs\": %.3f, \"startSeconds\": %.3f, "
            "\"latestWhileStartingMs\": %.3f, \"bytesPerTool\": %.0f}\n",
            result.success() ? "true" : "false", together ? "true" : "false", late.size(),
            percentile(late, 1.0), percentile(late, 0.999), percentile(late, 0.99),
            percentile(late, 0.5), milliseconds(all_at > begin ? all_at - begin : 0) / 1000,
            percentile(late_while_starting, 1.0),
            static_cast<double>(grown) / static_cast<double>(tools));
        return result.success() && together ? 0 : 1;
    } catch (const Error& error) {
        std::fprintf(stderr, "%s\n%s\n", error.what(), std::string(error.details()).c_str());
        return 2;
    }
}
