// SPDX-License-Identifier: Apache-2.0
#include "journal/writer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "conformance/folder.hpp"

namespace narratoria::journal {
namespace {

using testing::ElementsAre;

// The tasks of these tests write nothing but a line into `ran`. While there is a fault, each
// transaction fails with this code.
class WriterTest : public testing::Test {
protected:
    WriterTest() {
        loop.set_on_wake([this] { inbox.deliver(); });
    }

    void submit(const std::string& name, bool waits, size_t bytes = 0) {
        Writer::Task task;
        task.target = target;
        task.write = [this, name](StoreFile&) {
            if (fault != nullptr) throw StoreError(fault, "it fails");
            ran.push_back(name);
        };
        if (waits) {
            task.then = [this, name](StoreFile&) {
                snapshots.push_back(name);
                return std::string();
            };
        }
        task.done = [this, name](const StoreFailure* failure) {
            if (failure == nullptr) return told.push_back(name + " stored");
            told.push_back(name + (failure->is_final ? " lost" : " kept"));
        };
        task.waits = waits;
        task.bytes = bytes;
        writer.submit(std::move(task));
        writer.wait_for(target);
        loop.run_for(0);
    }

    test::Folder folder;
    Loop loop;
    Inbox inbox{loop, [](uint32_t, std::string_view, std::string_view) {}};
    Writer writer{inbox};
    std::shared_ptr<Writer::Target> target =
        writer.add(StoreFile(folder / "saves.db", Connection::Access::ReadWrite));
    const char* fault = nullptr;  // changed only while the writer's thread is idle
    std::vector<std::string> ran, told, snapshots;
};

TEST_F(WriterTest, KeptTasksRunFirstWithTheNextThatWaits) {
    fault = "STORE_FULL";
    submit("a", true);
    fault = "STORE_LOCKED";
    submit("b", true);
    fault = nullptr;
    submit("c", false);
    EXPECT_THAT(ran, ElementsAre());
    submit("d", true);
    EXPECT_THAT(ran, ElementsAre("a", "b", "c", "d"));
    EXPECT_THAT(told, ElementsAre("a kept", "b kept", "c kept", "d stored"));
}

TEST_F(WriterTest, OneSnapshotFollowsAllKeptTasks) {
    fault = "STORE_FULL";
    submit("a", true);
    fault = nullptr;
    submit("b", true);
    EXPECT_THAT(snapshots, ElementsAre("b"));
}

TEST_F(WriterTest, TasksAreLostAfterOtherFailures) {
    fault = "STORE_IO";
    submit("a", true);
    fault = nullptr;
    submit("b", true);
    EXPECT_THAT(ran, ElementsAre());
    EXPECT_THAT(told, ElementsAre("a lost", "b lost"));
}

TEST_F(WriterTest, TooManyKeptBytesAreLost) {
    fault = "STORE_FULL";
    submit("a", true, Writer::kMaxKept - sizeof(Writer::Task));
    submit("b", false);
    fault = nullptr;
    submit("c", true);
    EXPECT_THAT(ran, ElementsAre());
    EXPECT_THAT(told, ElementsAre("a kept", "b lost", "c lost"));
}

}  // namespace
}  // namespace narratoria::journal
