// SPDX-License-Identifier: Apache-2.0
// frame_loop PROGRAM TOOLS SECONDS [BUDGET_US [STORE]]: a game loop at 60 Hz that gives the engine
// a budget each frame while tools write as fast as they can. Prints the durations of the calls.
// With STORE, the session is kept in it.
//
// Each call's wall time and the thread's processor time are recorded, and whether the kernel
// preempted the thread within the call. The wall time of preempted calls is not the engine's.

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "narratoria/engine.hpp"

using namespace narratoria;

namespace {

double clock_us(clockid_t clock) {
    timespec time{};
    ::clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

long preemptions() {
    rusage usage{};
    ::getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nivcsw;
}

struct Call {
    double wall_us;
    double processor_us;
    bool preempted;
};

double percentile(std::vector<double> values, double share) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4 || argc > 6) {
        std::fprintf(stderr, "usage: %s PROGRAM TOOLS SECONDS [BUDGET_US [STORE]]\n", argv[0]);
        return 2;
    }
    const std::string program = argv[1];
    const auto tools = static_cast<uint32_t>(std::atoi(argv[2]));
    const double seconds = std::atof(argv[3]);
    const std::chrono::microseconds budget(argc > 4 ? std::atol(argv[4]) : 500);

    std::string plan = R"({"requestId":"frames","narrative":"","parallel":true,"tools":[)";
    for (uint32_t i = 0; i < tools; ++i) {
        if (i > 0) plan += ',';
        plan += R"({"toolId":"t)" + std::to_string(i) + R"(","toolPath":")" + program +
                R"(","input":{},"dependencies":[],"required":true,"async":true,)"
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
        Session session(engine, {.id = "frames", .store = argc == 6 ? argv[5] : ""});
        uint32_t heard = 0;
        uint64_t events = 0, bytes = 0;
        std::vector<bool> spoke(tools, false);
        session.attach(
            [&](Event event) noexcept {
                ++events;
                bytes += event.body().size();
                const auto tool = static_cast<size_t>(
                    std::strtoul(std::string(event.tool_id().substr(1)).c_str(), nullptr, 10));
                if (!spoke[tool]) {
                    spoke[tool] = true;
                    ++heard;
                }
            },
            kinds(Kind::ToolEvent));
        bool ended = false;
        session.execute(plan, {}, [&](Result) { ended = true; });

        std::vector<Call> running;
        double longest_while_starting = 0;
        running.reserve(static_cast<size_t>(seconds * 60) + 16);
        timespec due{};
        ::clock_gettime(CLOCK_MONOTONIC, &due);
        const double begin = clock_us(CLOCK_MONOTONIC);
        double running_since = 0;
        while (!ended &&
               (running_since == 0 || clock_us(CLOCK_MONOTONIC) - running_since < seconds * 1e6)) {
            const long before = preemptions();
            const double processor = clock_us(CLOCK_THREAD_CPUTIME_ID);
            const double wall = clock_us(CLOCK_MONOTONIC);
            engine.run_for(budget);
            Call call{};
            call.wall_us = clock_us(CLOCK_MONOTONIC) - wall;
            call.processor_us = clock_us(CLOCK_THREAD_CPUTIME_ID) - processor;
            call.preempted = preemptions() != before;
            if (heard == tools) {
                if (running_since == 0) running_since = clock_us(CLOCK_MONOTONIC);
                else running.push_back(call);
            } else {
                longest_while_starting = std::max(longest_while_starting, call.wall_us);
                if (wall - begin > 60e6) {
                    std::fprintf(stderr, "after a minute only %u tools have spoken\n", heard);
                    return 1;
                }
            }
            // Start of the next frame.
            due.tv_nsec += 16666667;
            if (due.tv_nsec >= 1000000000) {
                due.tv_nsec -= 1000000000;
                ++due.tv_sec;
            }
            while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, nullptr) != 0) {
            }
        }
        session.cancel();
        engine.run_until_idle();

        std::vector<double> wall, undisturbed, processor;
        for (const Call& call : running) {
            wall.push_back(call.wall_us);
            processor.push_back(call.processor_us);
            if (!call.preempted) undisturbed.push_back(call.wall_us);
        }
        std::printf(
            "{\"frames\": %zu, \"preempted\": %zu, \"wallLongestUs\": %.1f, \"wallP999Us\": %.1f, "
            "\"undisturbedLongestUs\": %.1f, \"undisturbedP999Us\": %.1f, "
            "\"processorLongestUs\": %.1f, \"processorP999Us\": %.1f, \"processorMedianUs\": %.1f, "
            "\"startingLongestUs\": %.1f, \"events\": %llu, \"megabytes\": %.1f}\n",
            running.size(), running.size() - undisturbed.size(), percentile(wall, 1),
            percentile(wall, 0.999), percentile(undisturbed, 1), percentile(undisturbed, 0.999),
            percentile(processor, 1), percentile(processor, 0.999), percentile(processor, 0.5),
            longest_while_starting, static_cast<unsigned long long>(events),
            static_cast<double>(bytes) / 1e6);
        return 0;
    } catch (const Error& error) {
        std::fprintf(stderr, "%s\n%s\n", error.what(), std::string(error.details()).c_str());
        return 2;
    }
}
