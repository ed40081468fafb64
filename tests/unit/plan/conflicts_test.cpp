// SPDX-License-Identifier: Apache-2.0
#include "plan/conflicts.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace narratoria::plan {
namespace {

class ConflictsTest : public ::testing::Test {
protected:
    ConflictsTest() {
        // Writer numbers continue from earlier executions of the session.
        conflicts_.add_writer(kFirst, "c");
        conflicts_.add_writer(kFirst + 1, "a");
        conflicts_.add_writer(kFirst + 2, "b");
    }

    static constexpr state::Writer kFirst = 7;
    static constexpr state::Writer kC = kFirst, kA = kFirst + 1, kB = kFirst + 2;

    std::vector<std::string> found_;
    Conflicts conflicts_{found_};
};

TEST_F(ConflictsTest, NamesPathAndToolsInTheOrderOfWriting) {
    conflicts_.on_conflict("/door/\"x\"", kC, kA);
    EXPECT_EQ(found_, (std::vector<std::string>{R"({"path":"/door/\"x\"","tools":["c","a"]})"}));
}

TEST_F(ConflictsTest, ToolsThatAlternateOnAPathAreNamedOnce) {
    conflicts_.on_conflict("/x", kA, kB);
    conflicts_.on_conflict("/x", kB, kA);
    conflicts_.on_conflict("/x", kA, kB);
    EXPECT_EQ(found_.size(), 1u);
    conflicts_.on_conflict("/x", kC, kB);
    conflicts_.on_conflict("/y", kA, kB);
    EXPECT_EQ(found_.size(), 3u);
}

TEST_F(ConflictsTest, EachConflictIsTakenOnceInOrderOfDetection) {
    EXPECT_EQ(conflicts_.take(), nullptr);
    conflicts_.on_conflict("/x", kA, kB);
    conflicts_.on_conflict("/y", kA, kB);
    EXPECT_EQ(*conflicts_.take(), found_[0]);
    EXPECT_EQ(*conflicts_.take(), found_[1]);
    EXPECT_EQ(conflicts_.take(), nullptr);
}

TEST_F(ConflictsTest, EndlessConflictsUseBoundedMemory) {
    for (size_t i = 0; i < Conflicts::kMaxConflicts + 10; ++i) {
        conflicts_.on_conflict("/" + std::to_string(i), kA, kB);
    }
    EXPECT_EQ(found_.size(), Conflicts::kMaxConflicts);
}

}  // namespace
}  // namespace narratoria::plan
