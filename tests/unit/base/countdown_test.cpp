// SPDX-License-Identifier: Apache-2.0
#include "base/countdown.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "unit/base/fake_clock.hpp"

namespace narratoria {
namespace {

class CountdownTest : public testing::Test {
protected:
    void start(uint64_t milliseconds) {
        countdown->start(milliseconds, [this] { ++calls; });
    }

    test::FakeClock clock;
    Loop loop{&clock};
    std::unique_ptr<Countdown> countdown = std::make_unique<Countdown>(loop);
    int calls = 0;
};

TEST_F(CountdownTest, PausedTimeDoesNotCount) {
    start(100);
    clock.advance(60);
    countdown->pause();
    countdown->pause();
    clock.advance(1000);
    countdown->resume();
    countdown->resume();
    clock.advance(39);
    EXPECT_EQ(calls, 0);
    clock.advance(1);
    EXPECT_EQ(calls, 1);
    countdown->resume();
    clock.advance(1000);
    EXPECT_EQ(calls, 1) << "it has expired";
}

TEST_F(CountdownTest, ZeroMeansNoLimit) {
    start(0);
    countdown->pause();
    countdown->resume();
    clock.advance(1000);
    EXPECT_EQ(calls, 0);
}

TEST_F(CountdownTest, StoppedCountdownNeverFires) {
    start(100);
    countdown->stop();
    countdown->resume();
    clock.advance(1000);
    start(100);
    countdown.reset();
    clock.advance(1000);
    EXPECT_EQ(calls, 0);
}

TEST_F(CountdownTest, CallbackMayRestartOrDestroyIt) {
    countdown->start(10, [this] {
        ++calls;
        countdown->start(10, [this] {
            ++calls;
            countdown.reset();
        });
    });
    clock.advance(10);
    EXPECT_EQ(calls, 1);
    clock.advance(10);
    EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace narratoria
