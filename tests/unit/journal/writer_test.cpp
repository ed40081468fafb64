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

// The tasks of these tests write nothing but a line into `ran`. While the store is full, each
// transaction fails.
class WriterTest : public testing::Test {
protected:
    WriterTest() {
        loop.set_on_wake([this] { inbox.deliver(); });
    }

    void submit(const std::string& name, bool waits, size_t bytes = 0) {
        Writer::Task task;
        task.target = target;
        task.write = [this, name](StoreFile&) {
            if (is_full) throw StoreError("STORE_FULL", "full");
            ran.push_back(name);
        };
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
    bool is_full = false;  // changed only while the writer's thread is idle
    std::vector<std::string> ran, told;
};

TEST_F(WriterTest, KeptTasksRunFirstWithTheNextThatWaits) {
    is_full = true;
    submit("a", true);
    is_full = false;
    submit("b", false);
    EXPECT_THAT(ran, ElementsAre());
    submit("c", true);
    EXPECT_THAT(ran, ElementsAre("a", "b", "c"));
    EXPECT_THAT(told, ElementsAre("a kept", "b kept", "c stored"));
}

TEST_F(WriterTest, TooManyKeptBytesAreLost) {
    is_full = true;
    submit("a", true, Writer::kMaxKept);
    submit("b", false, 1);
    is_full = false;
    submit("c", true);
    EXPECT_THAT(ran, ElementsAre());
    EXPECT_THAT(told, ElementsAre("a kept", "b lost", "c lost"));
}

}  // namespace
}  // namespace narratoria::journal
