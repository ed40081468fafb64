// SPDX-License-Identifier: Apache-2.0
// run_plan PLAN [--jobs N] [--resident-mb N] [--result FILE] [--sandbox GUARANTEES]
//          [--store FILE]:
// runs a plan as a host does. Prints as JSON the seconds from submission to result and the host's
// peak memory.
//
// The engine is new, so the measured time includes the start of its supervisors.

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "memory.hpp"
#include "narratoria/engine.hpp"

using namespace narratoria;

namespace {

struct Arguments {
    std::string plan;
    uint32_t jobs = 2;
    size_t resident_mb = 0;
    std::string result;
    std::string sandbox;
    std::string store;
};

bool read_arguments(int argc, char** argv, Arguments& arguments) {
    for (int i = 1; i < argc; ++i) {
        const std::string_view name = argv[i];
        if (!name.starts_with("--")) {
            arguments.plan = name;
            continue;
        }
        if (++i == argc) return false;
        if (name == "--jobs") arguments.jobs = static_cast<uint32_t>(std::atoi(argv[i]));
        else if (name == "--resident-mb")
            arguments.resident_mb = static_cast<size_t>(std::atol(argv[i]));
        else if (name == "--result") arguments.result = argv[i];
        else if (name == "--sandbox") arguments.sandbox = argv[i];
        else if (name == "--store") arguments.store = argv[i];
        else return false;
    }
    return !arguments.plan.empty();
}

}  // namespace

int main(int argc, char** argv) {
    Arguments arguments;
    if (!read_arguments(argc, argv, arguments)) {
        std::fprintf(stderr,
                     "usage: %s PLAN [--jobs N] [--resident-mb N] [--result FILE] "
                     "[--sandbox GUARANTEES] [--store FILE]\n",
                     argv[0]);
        return 2;
    }
    std::ifstream file(arguments.plan, std::ios::binary);
    if (!file) {
        std::fprintf(stderr, "%s: cannot be read\n", arguments.plan.c_str());
        return 2;
    }
    const std::string plan{std::istreambuf_iterator<char>(file), {}};
    // Written to, so that the pages are resident. Small blocks resemble a host's heap.
    std::vector<std::vector<char>> ballast;
    for (size_t i = 0; i < arguments.resident_mb * 16; ++i) ballast.emplace_back(64 * 1024, 'x');

    EngineOptions options;
    options.jobs = arguments.jobs;
    options.sandbox = arguments.sandbox;
    Times times;
    times.plan_ms = NAR_NONE;
    times.try_ms = NAR_NONE;
    options.times = times;
    try {
        Engine engine(options);
        Session session(engine, {.store = arguments.store});
        uint64_t events = 0;
        session.attach([&](Event) noexcept { ++events; }, kinds(Kind::ToolEvent));
        Result result;
        const uint64_t before = bench::resident_bytes();
        bench::forget_peak();
        const auto begin = std::chrono::steady_clock::now();
        session.execute(plan, {}, [&](Result ended) { result = std::move(ended); });
        while (!result) engine.run_once();
        if (!arguments.result.empty()) {
            const int out = ::open(arguments.result.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
            result.write_to(out);
            ::close(out);
        }
        const double seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        const uint64_t peak = bench::peak_bytes();
        std::printf(
            "{\"seconds\": %.6f, \"success\": %s, \"toolEvents\": %llu, "
            "\"grownBytes\": %llu}\n",
            seconds, result.success() ? "true" : "false", static_cast<unsigned long long>(events),
            static_cast<unsigned long long>(peak > before ? peak - before : 0));
        engine.run_until_idle();
        return result.success() ? 0 : 1;
    } catch (const Error& error) {
        std::fprintf(stderr, "%s\n%s\n", error.what(), std::string(error.details()).c_str());
        return 2;
    }
}
