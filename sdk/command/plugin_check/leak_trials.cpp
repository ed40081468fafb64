// SPDX-License-Identifier: Apache-2.0
// What instances leave adds up over rounds of them.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "plugin_check/containment.hpp"
#include "plugin_check/fake_host.hpp"
#include "plugin_check/process_state.hpp"
#include "plugin_check/trials.hpp"

namespace narratoria::command {
namespace {

constexpr unsigned kRounds = 100;
constexpr unsigned kWarmUpRounds = 10;
constexpr unsigned kFewestRounds = 20;
constexpr double kMaxRoundSeconds = 4;
// Of rounds in which the extensions are used as well.
constexpr unsigned kUsedRounds = 4;
constexpr unsigned kUsedWarmUpRounds = 2;
constexpr std::size_t kUsedHeapTolerance = 64 * 1024;
constexpr std::size_t kHeapTolerance = 8 * 1024;
constexpr std::size_t kMappingTolerance = 4;
// An allocator maps some at a time, above all a sanitizer's.
constexpr std::uint64_t kAddressTolerance = std::uint64_t{16} << 20;
// An allocator may still grow, above all a sanitizer's; what is lost at each round is far more.
constexpr unsigned kRoundsForAMapping = 4;

}  // namespace

void try_rounds(TrialReport& report, const std::string& path, const std::string& settings) {
    struct Counts {
        std::map<int, std::string> descriptors;
        std::size_t threads = 0;
        std::size_t mappings = 0;
        std::size_t heap = 0;
        std::uint64_t addresses = 0;
    };
    const auto count = [] {
        Counts now;
        // First the heap, which the rest makes larger.
        now.heap = heap_bytes();
        now.mappings = mapping_count();
        now.addresses = address_space();
        now.threads = running_threads().size();
        now.descriptors = open_descriptors();
        return now;
    };
    // A host loads a library once and never unloads it: what the entry allocates once may stay.
    const Library library = load_library(report, path);
    const nar_plugin* plugin = enter(report, library);
    if (plugin == nullptr) return;
    CallTimes times;
    Counts before;
    const Clock::time_point began = Clock::now();
    unsigned rounds = 0;
    for (unsigned round = 0; round < kRounds; ++round) {
        // Whose init is slow gets fewer of them.
        if (round >= kFewestRounds && seconds_since(began) > kMaxRoundSeconds) break;
        if (round >= kWarmUpRounds) ++rounds;
        if (round == kWarmUpRounds) {
            before = count();
            // What the first counting itself needed is not the plugin's.
            before = count();
        }
        PluginCheckHostOptions options;
        options.settings = settings;
        PluginCheckHost host(report, times, options);
        PluginInstance instance(host, *plugin);
        if (!instance.start()) return;
        instance.end();
    }
    const Counts after = count();
    const auto open = added(before.descriptors, after.descriptors);
    if (!open.empty()) {
        report.finding(
            "P28", fmt::format("descriptors stay open after {} rounds: {}", rounds, joined(open)));
    }
    if (after.threads > before.threads) {
        report.finding("P20", fmt::format("{} more threads after {} rounds",
                                          after.threads - before.threads, rounds));
        return;  // their stacks are mappings
    }
    if (after.mappings >
        before.mappings + std::max<std::size_t>(kMappingTolerance, rounds / kRoundsForAMapping)) {
        report.finding("P29", fmt::format("{} more mappings after {} rounds of init and deinit",
                                          after.mappings - before.mappings, rounds));
    }
    if (after.addresses > before.addresses + kAddressTolerance) {
        report.finding("P29",
                       fmt::format("{} more bytes are mapped after {} rounds of init and deinit",
                                   after.addresses - before.addresses, rounds));
    }
    if (after.heap > before.heap + kHeapTolerance) {
        report.finding("P29",
                       fmt::format("{} more bytes are allocated after {} rounds of init and deinit",
                                   after.heap - before.heap, rounds));
    }
    cover(report, {"P29"});
}

void try_used_rounds(TrialReport& report, const std::string& path, const std::string& settings,
                     const ExerciseOptions& exercise) {
    const Library library = load_library(report, path);
    const nar_plugin* plugin = enter(report, library);
    if (plugin == nullptr) return;
    CallTimes times;
    std::size_t before = 0;
    for (unsigned round = 0; round < kUsedWarmUpRounds + kUsedRounds; ++round) {
        if (round == kUsedWarmUpRounds) before = heap_bytes();
        PluginCheckHostOptions options;
        options.settings = settings;
        PluginCheckHost host(report, times, options);
        PluginInstance instance(host, *plugin);
        if (!instance.start()) return;
        instance.exercise(exercise);
        instance.end();
    }
    const std::size_t after = heap_bytes();
    if (after > before + kUsedHeapTolerance) {
        report.finding("P29", fmt::format("{} more bytes are allocated after {} instances were "
                                          "used and ended",
                                          after - before, kUsedRounds));
    }
    cover(report, {"P29"});
}

}  // namespace narratoria::command
