// SPDX-License-Identifier: Apache-2.0
// The engine in a game's frame loop: 60 frames per second, with 500 µs of each for the engine. Runs a
// plan and prints the longest time that a frame spent inside the engine.   frame_loop PLAN.json
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "narratoria/engine.hpp"

int main(int argument_count, char** arguments) {
    using Clock = std::chrono::steady_clock;
    using std::chrono::duration;
    using std::chrono::microseconds;
    constexpr std::chrono::nanoseconds kFrame{1'000'000'000 / 60};
    constexpr microseconds kBudget{500};

    if (argument_count != 2) {
        std::fprintf(stderr, "usage: frame_loop PLAN.json\n");
        return 2;
    }
    std::ifstream file(arguments[1], std::ios::binary);
    if (!file) {
        std::fprintf(stderr, "%s: %s\n", arguments[1], std::strerror(errno));
        return 2;
    }
    const std::string plan{std::istreambuf_iterator<char>(file), {}};
    try {
        narratoria::Engine engine;
        narratoria::Session session(engine);
        unsigned long events = 0;
        session.attach([&](narratoria::Event) noexcept { ++events; });
        narratoria::Result result;
        const std::string path = arguments[1];  // tool paths are relative to the plan
        const std::string folder = path.substr(0, path.rfind('/') + 1);
        session.execute(plan, folder, [&](narratoria::Result ended) { result = std::move(ended); });

        unsigned long frames = 0;
        Clock::duration longest{};
        Clock::time_point next_frame = Clock::now();
        while (engine.is_busy()) {
            // Input, physics and drawing go here.
            const Clock::time_point begin = Clock::now();
            engine.run_for(kBudget);
            longest = std::max(longest, Clock::now() - begin);
            ++frames;
            next_frame += kFrame;
            std::this_thread::sleep_until(next_frame);
        }
        std::printf("%lu frames, %lu events, longest time in the engine: %.0f µs, plan %s\n",
                    frames, events, duration<double, std::micro>(longest).count(),
                    result.success() ? "succeeded" : "failed");
        return result.success() ? 0 : 1;
    } catch (const narratoria::Error& error) {
        std::fprintf(stderr, "%s\n%s\n", error.what(), error.details().c_str());
        return 1;
    }
}
