// SPDX-License-Identifier: Apache-2.0
// What instances leave adds up over rounds of them.
#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "plugin_check/fake_host.hpp"
#include "plugin_check/process_state.hpp"
#include "plugin_check/trials.hpp"

namespace narratoria::command {
namespace {

constexpr unsigned kRounds = 90;
constexpr unsigned kWarmUpRounds = 10;
constexpr unsigned kFewestRounds = 10;
// Of rounds in which the extensions are used as well.
constexpr unsigned kUsedRounds = 16;
constexpr unsigned kUsedWarmUpRounds = 2;
constexpr unsigned kFewestUsedRounds = 4;
// Who seems to leak gets so many times more rounds; in their second half a cache is full.
constexpr unsigned kMoreRounds = 4;
constexpr double kMaxRoundSeconds = 4;
constexpr std::uint64_t kLeakIsCertain = std::uint64_t{64} << 20;

constexpr std::uint64_t kAllocatedTolerance = 8 * 1024;
constexpr std::uint64_t kUsedAllocatedTolerance = 64 * 1024;
// An allocator maps some at a time, above all a sanitizer's.
constexpr std::uint64_t kMappedTolerance = std::uint64_t{16} << 20;
constexpr std::size_t kMappingTolerance = 4;
// An allocator may still grow, above all a sanitizer's; what is lost at each round is far more.
constexpr unsigned kRoundsForAMapping = 4;

// A number of bytes after each round.
class Series {
public:
    Series() = default;
    // Allocates nothing later, which would be counted.
    explicit Series(std::size_t room) { bytes_.reserve(room); }

    void add(std::uint64_t bytes) { bytes_.push_back(bytes); }
    std::size_t rounds() const { return bytes_.size() - 1; }

    std::uint64_t growth() const { return growth_since(0); }
    std::uint64_t growth_of_last_half() const { return growth_since(bytes_.size() / 2); }

    // Of parts of the rounds, each uses more than the one before at any time, and the growth does not
    // become less. What a plugin uses for a while, and a cache that fills up, do not look like that.
    bool grows_steadily() const {
        constexpr std::size_t kParts = 8;
        const std::size_t part = bytes_.size() / kParts;
        if (part == 0) return false;
        std::uint64_t least[kParts];
        auto at = bytes_.end() - static_cast<std::ptrdiff_t>(part * kParts);
        for (std::uint64_t& one : least) {
            one = *std::min_element(at, at + static_cast<std::ptrdiff_t>(part));
            at += static_cast<std::ptrdiff_t>(part);
        }
        for (std::size_t index = 1; index < kParts; ++index) {
            if (least[index] < least[index - 1] + part) return false;
        }
        return least[kParts - 1] - least[kParts / 2] >= (least[kParts / 2 - 1] - least[0]) / 2;
    }

private:
    std::uint64_t growth_since(std::size_t begin) const {
        return begin < bytes_.size() && bytes_.back() > bytes_[begin]
                   ? bytes_.back() - bytes_[begin]
                   : 0;
    }

    std::vector<std::uint64_t> bytes_;
};

struct RoundLimits {
    unsigned rounds, fewest;
    std::uint64_t allocated_tolerance;
};

// Rounds, and the memory that is in use after each.
class Watch {
public:
    explicit Watch(const RoundLimits& limits) : limits_(limits) {}

    // More rounds follow when these seem to leak: in them a cache has become full. False: one failed.
    bool run(const std::function<bool()>& round) {
        if (!run(limits_.rounds, round)) return false;
        seems_to_leak_ = allocated_.growth() > limits_.allocated_tolerance ||
                         mapped_.growth() > kMappedTolerance || allocated_.grows_steadily() ||
                         mapped_.grows_steadily();
        return !seems_to_leak_ || run(kMoreRounds * limits_.rounds, round);
    }

    void judge(TrialReport& report, std::string_view what) const {
        if (!seems_to_leak_) return;
        tell(report, allocated_, limits_.allocated_tolerance, "allocated", what);
        tell(report, mapped_, kMappedTolerance, "mapped", what);
    }

    unsigned rounds() const { return rounds_; }

private:
    bool run(unsigned rounds, const std::function<bool()>& round) {
        allocated_ = Series(rounds + 1);
        mapped_ = Series(rounds + 1);
        look();
        const Clock::time_point began = Clock::now();
        for (unsigned number = 0; number < rounds; ++number) {
            // Whose rounds are slow gets fewer.
            if (number >= limits_.fewest && seconds_since(began) > kMaxRoundSeconds) break;
            // So that P42 is not blamed for what is a leak.
            if (std::max(allocated_.growth(), mapped_.growth()) > kLeakIsCertain) break;
            if (!round()) return false;
            ++rounds_;
            look();
        }
        return true;
    }

    void look() {
        const MemoryInUse now = memory_in_use();
        allocated_.add(now.allocated);
        mapped_.add(now.mapped);
    }

    void tell(TrialReport& report, const Series& bytes, std::uint64_t tolerance,
              std::string_view how, std::string_view what) const {
        if (bytes.growth_of_last_half() <= tolerance && !bytes.grows_steadily()) return;
        report.finding("P29", fmt::format("{} more bytes are {} after {} {}", bytes.growth(), how,
                                          bytes.rounds(), what));
    }

    const RoundLimits limits_;
    unsigned rounds_ = 0;
    bool seems_to_leak_ = false;
    Series allocated_;
    Series mapped_;
};

// False: a round failed.
bool warm_up(unsigned rounds, const std::function<bool()>& round) {
    while (rounds > 0 && round()) --rounds;
    return rounds == 0;
}

}  // namespace

void try_rounds(TrialReport& report, const std::string& path, const std::string& settings,
                const std::optional<ExerciseOptions>& exercise) {
    struct Counts {
        std::map<int, std::string> descriptors = open_descriptors();
        std::size_t threads = running_threads().size();
        std::size_t mappings = mapping_count();
    };
    // A host loads a library once and never unloads it: what the entry allocates once may stay.
    const Library library = load_library(report, path);
    const nar_plugin* plugin = enter(report, library);
    if (plugin == nullptr) return;
    CallTimes times;
    const auto make = [&](const std::function<void(PluginInstance&)>& use) {
        PluginCheckHostOptions options;
        options.settings = settings;
        PluginCheckHost host(report, times, options);
        PluginInstance instance(host, *plugin);
        if (!instance.start()) return false;
        if (use) use(instance);
        instance.end();
        return true;
    };
    const auto round = [&] { return make({}); };
    Watch watch({kRounds, kFewestRounds, kAllocatedTolerance});
    if (!warm_up(kWarmUpRounds, round)) return;
    const Counts before;
    if (!watch.run(round)) return;
    const Counts after;
    const auto open = added(before.descriptors, after.descriptors);
    if (!open.empty()) {
        report.finding("P28", fmt::format("descriptors stay open after {} rounds: {}",
                                          watch.rounds(), joined(open)));
    }
    if (after.threads > before.threads) {
        report.finding("P20", fmt::format("{} more threads after {} rounds",
                                          after.threads - before.threads, watch.rounds()));
        return;  // their stacks are mappings
    }
    if (after.mappings >
        before.mappings +
            std::max<std::size_t>(kMappingTolerance, watch.rounds() / kRoundsForAMapping)) {
        report.finding("P29", fmt::format("{} more mappings after {} rounds of init and deinit",
                                          after.mappings - before.mappings, watch.rounds()));
    }
    watch.judge(report, "rounds of init and deinit");
    if (exercise) {
        const auto used_round = [&] {
            return make([&](PluginInstance& instance) { instance.exercise(*exercise); });
        };
        Watch used({kUsedRounds, kFewestUsedRounds, kUsedAllocatedTolerance});
        if (!warm_up(kUsedWarmUpRounds, used_round) || !used.run(used_round)) return;
        used.judge(report, "instances were used and ended");
    }
    cover(report, {"P29"});
}

}  // namespace narratoria::command
