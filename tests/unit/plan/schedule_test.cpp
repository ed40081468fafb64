// SPDX-License-Identifier: Apache-2.0
#include "plan/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/fault.hpp"

namespace narratoria::plan {
namespace {

struct Entry {
    std::vector<uint32_t> dependencies;
    bool async = true;
    bool required = true;
    uint32_t max_retries = 0;
    uint32_t backoff_ms = 100;
};

// A plan of tools named by their positions.
std::unique_ptr<Plan> plan_of(const std::vector<Entry>& entries, bool parallel = true) {
    std::string text = R"({"requestId":"r","narrative":"","parallel":)";
    text += parallel ? "true" : "false";
    text += R"(,"tools":[)";
    for (size_t i = 0; i < entries.size(); ++i) {
        const Entry& entry = entries[i];
        if (i > 0) text += ',';
        text += R"({"toolId":")" + std::to_string(i) + R"(","toolPath":"/x","dependencies":[)";
        for (const uint32_t each : entry.dependencies) {
            if (text.back() != '[') text += ',';
            text += '"' + std::to_string(each) + '"';
        }
        text += R"(],"async":)" + std::string(entry.async ? "true" : "false");
        text += R"(,"required":)" + std::string(entry.required ? "true" : "false");
        text += R"(,"retryPolicy":{"maxRetries":)" + std::to_string(entry.max_retries);
        text += R"(,"backoffMs":)" + std::to_string(entry.backoff_ms) + "}}";
    }
    text += "]}";
    auto plan = std::make_unique<Plan>();
    Faults faults;
    EXPECT_TRUE(plan->parse(text, faults)) << describe_faults(faults, text);
    return plan;
}

using Tools = std::vector<uint32_t>;

// Starts every tool that may start now.
Tools start_all(Schedule& schedule) {
    Tools started;
    for (uint32_t tool; (tool = schedule.next()) != Schedule::kNone;) {
        schedule.start(tool);
        started.push_back(tool);
    }
    return started;
}

// covers: 003-13.4.5-backoff
TEST(Schedule, BackoffDoublesUpToItsLimit) {
    const auto plan = plan_of({{{}, true, true, 10, 100}});
    Schedule schedule(*plan);
    for (const uint64_t expected :
         {100u, 200u, 400u, 800u, 1600u, 3200u, 6400u, 12800u, 25600u, 30000u}) {
        schedule.start(0);
        EXPECT_EQ(schedule.back_off(0), std::optional<uint64_t>(expected));
        schedule.resume(0);
    }
    schedule.start(0);
    EXPECT_EQ(schedule.attempt(0), 11u);
    EXPECT_EQ(schedule.back_off(0), std::nullopt);
    EXPECT_EQ(schedule.running(), 1u) << "the tool has not settled yet";
}

// covers: 003-13.4.5-backoff
TEST(Schedule, BackoffAboveTheLimitIsNotShortened) {
    const auto plan = plan_of({{{}, true, true, 2, 40000}});
    Schedule schedule(*plan);
    for (int i = 0; i < 2; ++i) {
        schedule.start(0);
        EXPECT_EQ(schedule.back_off(0), std::optional<uint64_t>(40000));
        schedule.resume(0);
    }
}

TEST(Schedule, StopPreventsStartsAndKeepsDependents) {
    const auto plan = plan_of({{}, {{0}}, {}});
    Schedule schedule(*plan);
    schedule.start(0);
    schedule.stop();
    EXPECT_EQ(schedule.next(), Schedule::kNone);
    EXPECT_TRUE(schedule.settle(0, false).empty());
    EXPECT_FALSE(schedule.is_settled(1));
    schedule.settle(1, false);
    schedule.settle(2, false);
    EXPECT_TRUE(schedule.all_settled());
    EXPECT_EQ(schedule.running(), 0u);
}

// A second implementation of the rules, computed from each tool's whole history, not from counters.
class Reference {
public:
    enum class Phase { Open, Running, BackingOff, ToRetry, Completed, Failed, Skipped };

    Reference(const std::vector<Entry>& entries, bool parallel)
        : entries_(entries),
          parallel_(parallel),
          phases(entries.size(), Phase::Open),
          attempts(entries.size(), 0) {}

    uint32_t next() const {
        if (!retries.empty()) return retries.front();
        for (uint32_t i = 0; i < phases.size(); ++i) {
            if (phases[i] != Phase::Open || !is_ready(i)) continue;
            for (uint32_t other = 0; other < phases.size(); ++other) {
                const Phase phase = phases[other];
                const bool in_flight = phase == Phase::Running || phase == Phase::BackingOff ||
                                       phase == Phase::ToRetry;
                if (in_flight && (is_exclusive(i) || is_exclusive(other))) return Schedule::kNone;
            }
            return i;
        }
        return Schedule::kNone;
    }
    // Skips dependents until nothing changes.
    std::vector<uint32_t> skip() {
        std::vector<uint32_t> skipped;
        for (bool changed = true; changed;) {
            changed = false;
            for (uint32_t i = 0; i < phases.size(); ++i) {
                if (phases[i] != Phase::Open) continue;
                const auto& list = entries_[i].dependencies;
                if (std::none_of(list.begin(), list.end(), [&](uint32_t d) { return lacks(d); })) {
                    continue;
                }
                phases[i] = Phase::Skipped;
                skipped.push_back(i);
                changed = true;
            }
        }
        std::sort(skipped.begin(), skipped.end());
        return skipped;
    }
    bool lacks(uint32_t dependency) const {
        return phases[dependency] == Phase::Skipped ||
               (phases[dependency] == Phase::Failed && entries_[dependency].required);
    }
    bool is_exclusive(uint32_t tool) const { return !parallel_ || !entries_[tool].async; }

private:
    bool is_ready(uint32_t tool) const {
        const auto& list = entries_[tool].dependencies;
        return std::all_of(list.begin(), list.end(), [&](uint32_t d) {
            return phases[d] == Phase::Completed ||
                   (phases[d] == Phase::Failed && !entries_[d].required);
        });
    }
    const std::vector<Entry>& entries_;
    bool parallel_;

public:
    std::vector<Phase> phases;
    std::vector<uint32_t> attempts;
    std::vector<uint32_t> retries;
};

TEST(Schedule, AnyPlanFollowsTheRulesInAnyOrderOfEvents) {
    using Phase = Reference::Phase;
    std::mt19937 random(20261122);
    for (int round = 0; round < 400; ++round) {
        SCOPED_TRACE(round);
        std::vector<Entry> entries(1 + random() % 20);
        std::vector<uint32_t> order(entries.size());
        for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
        std::shuffle(order.begin(), order.end(), random);
        for (size_t place = 0; place < order.size(); ++place) {
            Entry& entry = entries[order[place]];
            for (size_t before = 0; before < place; ++before) {
                if (random() % 6 == 0) entry.dependencies.push_back(order[before]);
            }
            entry.async = random() % 4 != 0;
            entry.required = random() % 2 == 0;
            entry.max_retries = static_cast<uint32_t>(random() % 3);
        }
        const bool parallel = random() % 4 != 0;
        const auto plan = plan_of(entries, parallel);
        Schedule schedule(*plan);
        Reference reference(entries, parallel);
        // Slots are sometimes unavailable: next() is called, but nothing is started.
        while (!schedule.all_settled()) {
            const uint32_t next = schedule.next();
            ASSERT_EQ(next, reference.next());
            Tools running, backing_off;
            for (uint32_t i = 0; i < entries.size(); ++i) {
                if (reference.phases[i] == Phase::Running) running.push_back(i);
                if (reference.phases[i] == Phase::BackingOff) backing_off.push_back(i);
                ASSERT_EQ(schedule.attempt(i), reference.attempts[i]);
                ASSERT_EQ(schedule.is_settled(i), reference.phases[i] >= Phase::Completed);
                ASSERT_EQ(schedule.is_exclusive(i), reference.is_exclusive(i));
            }
            ASSERT_EQ(schedule.running(), running.size());
            ASSERT_TRUE(next != Schedule::kNone || !running.empty() || !backing_off.empty())
                << "the schedule is stuck";
            const auto choice = static_cast<uint32_t>(random() % 4);
            if (choice == 0 && !backing_off.empty()) {
                const uint32_t tool = backing_off[random() % backing_off.size()];
                schedule.resume(tool);
                reference.phases[tool] = Phase::ToRetry;
                reference.retries.push_back(tool);
            } else if (choice <= 2 && next != Schedule::kNone) {
                schedule.start(next);
                if (random() % 5 == 0) {
                    schedule.put_back(next);
                    continue;
                }
                if (reference.attempts[next]++ > 0)
                    reference.retries.erase(reference.retries.begin());
                reference.phases[next] = Phase::Running;
            } else if (!running.empty()) {
                const uint32_t tool = running[random() % running.size()];
                const bool completed = random() % 3 != 0;
                if (!completed) {
                    const bool again = schedule.back_off(tool).has_value();
                    ASSERT_EQ(again, reference.attempts[tool] <= entries[tool].max_retries);
                    if (again) {
                        reference.phases[tool] = Phase::BackingOff;
                        continue;
                    }
                }
                reference.phases[tool] = completed ? Phase::Completed : Phase::Failed;
                Tools skipped;
                for (const auto [each, lacking] : schedule.settle(tool, completed)) {
                    const auto& list = entries[each].dependencies;
                    ASSERT_NE(std::find(list.begin(), list.end(), lacking), list.end());
                    ASSERT_TRUE(lacking == tool ||
                                std::find(skipped.begin(), skipped.end(), lacking) != skipped.end())
                        << "the failed dependency was reported earlier";
                    skipped.push_back(each);
                }
                std::sort(skipped.begin(), skipped.end());
                ASSERT_EQ(skipped, reference.skip());
            }
        }
        EXPECT_EQ(schedule.next(), Schedule::kNone);
        EXPECT_EQ(schedule.running(), 0u);
    }
}

// ---- growth

TEST(Schedule, SettledToolIsNotStarted) {
    const auto plan = plan_of({{}, {}, {}});
    Schedule schedule(*plan);
    schedule.settle(1, false);
    schedule.start(0);
    EXPECT_EQ(schedule.next(), 2u);
    schedule.settle(2, false);
    EXPECT_EQ(schedule.next(), Schedule::kNone);
    schedule.settle(0, true);
    EXPECT_TRUE(schedule.all_settled());
}

TEST(Schedule, SettledRetryIsNotStarted) {
    const Entry retried{{}, true, true, 3};
    const auto plan = plan_of({retried, retried});
    Schedule schedule(*plan);
    start_all(schedule);
    for (const uint32_t tool : {0u, 1u}) {
        ASSERT_TRUE(schedule.back_off(tool));
        schedule.resume(tool);
    }
    schedule.settle(0, false);
    EXPECT_EQ(schedule.next(), 1u);
}

TEST(Schedule, AppendingIndependentToolsEqualsPlanningThem) {
    std::mt19937 random(20261123);
    for (int round = 0; round < 300; ++round) {
        SCOPED_TRACE(round);
        std::vector<Entry> entries(1 + random() % 20);
        for (Entry& entry : entries) {
            entry.async = true;
            entry.required = false;
            entry.max_retries = static_cast<uint32_t>(random() % 3);
        }
        const auto planned_tools = plan_of(entries, true);
        Schedule planned(*planned_tools);
        const auto grown_tools = plan_of({}, true);
        Schedule grown(*grown_tools);
        Tools running, backing_off;
        auto both = [&](auto&& step) {
            step(planned);
            step(grown);
        };
        auto append = [&] {
            ToolInvocation invocation;
            invocation.max_retries = entries[grown_tools->tools.size()].max_retries;
            grown_tools->append(std::move(invocation));
            grown.grow();
        };
        while (!planned.all_settled()) {
            const uint32_t next = planned.next();
            // Tools are appended when they are needed or, at random, earlier.
            while (next != Schedule::kNone && grown_tools->tools.size() <= next) append();
            if (grown_tools->tools.size() < entries.size() && random() % 3 == 0) append();
            ASSERT_EQ(grown.next(), next);
            ASSERT_EQ(grown.running(), planned.running());
            const auto choice = random() % 4;
            if (choice == 0 && !backing_off.empty()) {
                const uint32_t tool = backing_off.back();
                backing_off.pop_back();
                both([&](Schedule& each) { each.resume(tool); });
            } else if (choice <= 2 && next != Schedule::kNone) {
                both([&](Schedule& each) { each.start(next); });
                running.push_back(next);
            } else if (!running.empty()) {
                const auto place = running.begin() + static_cast<long>(random() % running.size());
                const uint32_t tool = *place;
                running.erase(place);
                const bool completed = random() % 3 != 0;
                if (!completed) {
                    const auto pause = planned.back_off(tool);
                    ASSERT_EQ(grown.back_off(tool), pause);
                    if (pause) {
                        backing_off.push_back(tool);
                        continue;
                    }
                }
                both([&](Schedule& each) { EXPECT_TRUE(each.settle(tool, completed).empty()); });
            }
        }
        EXPECT_EQ(grown_tools->tools.size(), entries.size());
        EXPECT_TRUE(grown.all_settled());
    }
}

}  // namespace
}  // namespace narratoria::plan
