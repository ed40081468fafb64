// SPDX-License-Identifier: Apache-2.0
#include "plan/job_slots.hpp"

#include <gtest/gtest.h>

#include <string>

namespace narratoria::plan {
namespace {

// A named waiter that records when it is called.
struct Waiter {
    std::string name;
    std::string& asked;

    void wait(JobSlots& slots, JobSlots::WaitReason reason = JobSlots::WaitReason::Slot) {
        slots.wait(this, reason, [this] { asked += name; });
    }
};

TEST(JobSlots, CanBeTakenUntilNoneIsFree) {
    JobSlots slots(2);
    EXPECT_TRUE(slots.take(&slots));
    EXPECT_TRUE(slots.take(&slots));
    EXPECT_FALSE(slots.take(&slots));
    EXPECT_EQ(slots.used(), 2u);
    EXPECT_FALSE(slots.give_back()) << "nothing waits for a slot";
    EXPECT_EQ(slots.used(), 1u);
    EXPECT_TRUE(slots.take(&slots));
}

TEST(JobSlots, WaitersAreCalledInOrder) {
    JobSlots slots(1);
    std::string asked;
    Waiter a{"a", asked}, b{"b", asked};
    ASSERT_TRUE(slots.take(&slots));
    a.wait(slots);
    b.wait(slots);
    a.wait(slots);  // keeps its place
    EXPECT_TRUE(slots.give_back());
    EXPECT_EQ(asked, "ab");
    ASSERT_TRUE(slots.take(&a)) << "taking the slot ends the wait";
    slots.give_back();
    EXPECT_EQ(asked, "abb");
    slots.stop_waiting(&b);
    ASSERT_TRUE(slots.take(&slots));
    EXPECT_FALSE(slots.give_back());
}

// Two waiters short of descriptors would wake each other forever.
TEST(JobSlots, UnusedSlotDoesNotWakeDescriptorWaiters) {
    JobSlots slots(1);
    std::string asked;
    Waiter a{"a", asked}, b{"b", asked};
    a.wait(slots, JobSlots::WaitReason::Descriptors);
    b.wait(slots);
    ASSERT_TRUE(slots.take(&slots));
    slots.give_back_unused();
    EXPECT_EQ(asked, "b");
    EXPECT_EQ(slots.used(), 0u);
    b.wait(slots, JobSlots::WaitReason::Descriptors);  // new reason, same place in the queue
    ASSERT_TRUE(slots.take(&slots));
    slots.give_back_unused();
    EXPECT_EQ(asked, "b");
    ASSERT_TRUE(slots.take(&slots));
    slots.give_back();
    EXPECT_EQ(asked, "bab");
}

TEST(JobSlots, WaiterMayTakeTheSlotInItsCallback) {
    JobSlots slots(1);
    int calls = 0;
    const char who[3] = {};
    for (const char& each : who) {
        slots.wait(&each, JobSlots::WaitReason::Slot, [&] {
            ++calls;
            slots.take(&each);
        });
    }
    ASSERT_TRUE(slots.take(&slots));
    EXPECT_TRUE(slots.give_back());
    EXPECT_EQ(calls, 3);
    EXPECT_EQ(slots.used(), 1u);
}

}  // namespace
}  // namespace narratoria::plan
