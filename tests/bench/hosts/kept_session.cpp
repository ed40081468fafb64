// SPDX-License-Identifier: Apache-2.0
// kept_session STORE TURNS PATCHES [KEYS]: plays TURNS turns, each a plan with one host tool that
// makes PATCHES patches, in a session whose state has KEYS keys; without a store if STORE is "-".
// Then opens the session again and reads the states of some turns. Prints as JSON the microseconds
// of a turn (of the engine thread and in total) and the durations of the other steps.

#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "narratoria/engine.hpp"
#include "narratoria/store.hpp"
#include "narratoria/tools.hpp"

using namespace narratoria;

namespace {

double seconds_of(clockid_t clock) {
    timespec time{};
    ::clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

uint64_t bytes_of(const std::string& file) {
    struct stat status {};
    return ::stat(file.c_str(), &status) == 0 ? static_cast<uint64_t>(status.st_size) : 0;
}

std::string state_of(int keys) {
    std::string state = "{";
    for (int key = 0; key < keys; ++key) {
        state += (key > 0 ? ",\"key" : "\"key") + std::to_string(key) + "\":" + std::to_string(key);
    }
    return state + "}";
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4 && argc != 5) {
        std::fprintf(stderr, "usage: %s STORE TURNS PATCHES [KEYS]\n", argv[0]);
        return 2;
    }
    const std::string store = argv[1] == std::string_view("-") ? "" : argv[1];
    const int turns = std::atoi(argv[2]);
    const int patches = std::atoi(argv[3]);
    const std::string state = state_of(argc == 5 ? std::atoi(argv[4]) : 0);
    try {
        Engine engine;
        int64_t asked = 0;
        const Narrator narrator{
            .id = "bench",
            .generate =
                [&](std::string_view, const NarratorReply& reply) {
                    reply.plan(R"({"requestId":"p)" + std::to_string(++asked) +
                               R"(","tools":[{"toolId":"t","toolPath":"patch"}]})");
                },
            .cancel = {}};
        const SessionOptions options{.id = "bench",
                                     .state = state,
                                     .narrator = narrator,
                                     .store = store,
                                     .durability = NAR_DURABILITY_LAZY};
        double on_thread = 0, altogether = 0;
        {
            Session session(engine, options);
            session.tools().add(
                {.name = "patch", .owner = "bench"},
                [&](const plugin::InvocationRequest&, plugin::Invocation invocation) {
                    for (int patch = 0; patch < patches; ++patch) {
                        invocation.event(R"({"version":"0","type":"state_patch","patch":{"key)" +
                                         std::to_string(patch) + R"(":)" + std::to_string(asked) +
                                         "}}");
                    }
                    invocation.result("null");
                });
            const double start_thread = seconds_of(CLOCK_THREAD_CPUTIME_ID);
            const double start = seconds_of(CLOCK_MONOTONIC);
            for (int turn = 0; turn < turns; ++turn) {
                session.prompt("go");
                engine.run_until_idle();
            }
            const int count = std::max(turns, 1);
            on_thread = (seconds_of(CLOCK_THREAD_CPUTIME_ID) - start_thread) / count * 1e6;
            altogether = (seconds_of(CLOCK_MONOTONIC) - start) / count * 1e6;
        }
        double opened = 0, went = 0;
        if (!store.empty()) {
            const double start = seconds_of(CLOCK_MONOTONIC);
            Session again(engine, options);
            opened = (seconds_of(CLOCK_MONOTONIC) - start) * 1e3;
            for (int part = 1; part <= 10 && turns > 0; ++part) {
                const double before = seconds_of(CLOCK_MONOTONIC);
                Store(store).state("bench", static_cast<uint64_t>(turns * part / 10));
                went = std::max(went, (seconds_of(CLOCK_MONOTONIC) - before) * 1e3);
            }
        }
        std::printf(
            "{\"turn_thread_us\": %.2f, \"turn_us\": %.2f, \"open_ms\": %.2f, "
            "\"slowest_state_ms\": %.2f, \"bytes\": %llu}\n",
            on_thread, altogether, opened, went,
            static_cast<unsigned long long>(bytes_of(store) + bytes_of(store + "-wal")));
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
