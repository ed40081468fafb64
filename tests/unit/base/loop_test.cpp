// SPDX-License-Identifier: Apache-2.0
#include "base/loop.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>

#include "base/descriptor.hpp"

namespace narratoria {
namespace {

void work_for(uint64_t microseconds) {
    const uint64_t end = uv_hrtime() + microseconds * 1000;
    while (uv_hrtime() < end) {
    }
}

// Pipes that are always readable.
class LoopBudget : public testing::Test {
protected:
    void SetUp() override {
        for (Pipe& pipe : pipes_) {
            ASSERT_EQ(make_pipe(pipe), 0);
            ASSERT_EQ(::write(pipe.write.get(), "x", 1), 1);
        }
    }

    Loop loop_;
    std::array<Pipe, 8> pipes_;
};

TEST_F(LoopBudget, IsCheckedBetweenDescriptors) {
    std::array<std::unique_ptr<Watch>, 8> watches;
    std::array<int, 8> turns{};
    for (size_t i = 0; i < pipes_.size(); ++i) {
        watches[i] = std::make_unique<Watch>(loop_);
        watches[i]->start(pipes_[i].read.get(), [&turns, i] {
            ++turns[i];
            work_for(400);
        });
    }
    for (int call = 0; call < 40; ++call) {
        const auto before = turns;
        loop_.run_for(500);
        int made = 0;
        for (size_t i = 0; i < turns.size(); ++i) made += turns[i] - before[i];
        // The second callback starts within the budget; a third would not.
        EXPECT_LE(made, 2);
    }
    // No watch is starved.
    const auto [fewest, most] = std::minmax_element(turns.begin(), turns.end());
    EXPECT_GT(*fewest, 0);
    EXPECT_LE(*most - *fewest, 2);
}

TEST_F(LoopBudget, SkipsDeferredWatchesThatHaveStopped) {
    std::array<std::unique_ptr<Watch>, 8> watches;
    for (size_t i = 0; i < pipes_.size(); ++i) {
        watches[i] = std::make_unique<Watch>(loop_);
        watches[i]->start(pipes_[i].read.get(), [&watches, i] {
            work_for(600);
            for (size_t other = 0; other < watches.size(); ++other) {
                if (other != i) watches[other].reset();
            }
            watches[i]->stop();
        });
    }
    loop_.run_for(1);    // most watches are deferred
    loop_.run_for(500);  // the first one stops the others
    const auto left = std::count_if(watches.begin(), watches.end(),
                                    [](const auto& watch) { return watch != nullptr; });
    EXPECT_EQ(left, 1);
    loop_.run_for(500);
}

TEST_F(LoopBudget, IsSharedByWatchesAndDeferredTasks) {
    Watch watch(loop_);
    int read = 0, deferred = 0;
    watch.start(pipes_[0].read.get(), [&read] {
        ++read;
        work_for(600);
    });
    std::function<void()> task = [&] {
        if (!loop_.time_is_up()) {
            ++deferred;
            work_for(600);
        }
        loop_.defer(task);
    };
    loop_.defer(task);
    for (int call = 0; call < 40; ++call) loop_.run_for(500);
    EXPECT_GE(read, 15);
    EXPECT_GE(deferred, 15);
    watch.stop();
    task = [] {};
}

TEST_F(LoopBudget, ZeroBudgetRunsEveryWatchOnce) {
    std::array<std::unique_ptr<Watch>, 8> watches;
    int turns = 0;
    for (size_t i = 0; i < pipes_.size(); ++i) {
        watches[i] = std::make_unique<Watch>(loop_);
        watches[i]->start(pipes_[i].read.get(), [&turns] { ++turns; });
    }
    loop_.run_for(0);
    EXPECT_EQ(turns, 8);
    loop_.run_once();
    EXPECT_EQ(turns, 16);
}

}  // namespace
}  // namespace narratoria
