// SPDX-License-Identifier: Apache-2.0
#include "web/asset_files.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "conformance/folder.hpp"

namespace narratoria::web {
namespace {

using test::Folder;

void write(const std::string& path, const std::string& content) {
    std::ofstream(path, std::ios::trunc) << content;
}

struct stat status_of(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return status;
}

// Repeats the change until the file's timestamp moves; the file system's clock is coarse.
template <class Change>
void change_later(const std::string& path, Change&& change) {
    const auto before = status_of(path).st_ctim;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    for (;;) {
        change();
        const auto now = status_of(path).st_ctim;
        if (now.tv_sec != before.tv_sec || now.tv_nsec != before.tv_nsec) return;
        ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    }
}

TEST(FileIdentity, ModifiedFileWithItsOldTimeIsDetected) {
    const Folder folder;
    const std::string path = folder / "picture";
    write(path, "picture");
    const FileIdentity identity = FileIdentity::of(path.c_str());
    ASSERT_TRUE(identity.is(status_of(path)));
    change_later(path, [&] {
        const timespec times[] = {identity.modified, identity.modified};
        write(path, "secrets");
        ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
    });
    const struct stat now = status_of(path);
    ASSERT_EQ(now.st_size, identity.size);
    ASSERT_EQ(now.st_ino, identity.inode);
    ASSERT_EQ(now.st_mtim.tv_nsec, identity.modified.tv_nsec);
    EXPECT_FALSE(identity.is(now));
}

TEST(FileIdentity, NonRegularFileHasNoIdentity) {
    const Folder folder;
    EXPECT_EQ(FileIdentity::of((folder / "missing").c_str()).size, -1);
    EXPECT_EQ(FileIdentity::of(folder.path().c_str()).size, -1);
    EXPECT_EQ(FileIdentity::of("/dev/zero").size, -1);
    EXPECT_FALSE(FileIdentity().is(status_of(folder.path())));
}

// A host with an asset registry, and functions that wait for its loop.
class AssetFilesTest : public testing::Test {
protected:
    void announce(std::uint64_t number, const std::string& path, bool is_registered = true) {
        files.on_asset(number, 1, R"({"type":"asset","path":")" + path + "\"}");
        if (!is_registered) return;
        registry += registry.size() > 1 ? "," : "";
        registry += R"({"seq":)" + std::to_string(number) + R"(,"mediaType":"image/png","path":")" +
                    path + "\"}";
    }
    void run_loop() {
        for (const auto& function : std::exchange(posted, {})) function();
    }

    Folder folder;
    std::string registry = "[";
    std::vector<std::function<void()>> posted;
    int lists = 0;
    AssetFiles files{[this](nar_write_fn write_piece, void* user) {
                         ++lists;
                         const std::string text = registry + "]";
                         return write_piece(user, {text.data(), text.size()});
                     },
                     [this](const std::function<void()>& function) { posted.push_back(function); }};
};

// The registry may have the same length after it.
TEST_F(AssetFilesTest, MoveReplacesTheRegistryAndKeepsWhatWasRead) {
    const std::string old = folder / "a", next = folder / "b", restored = folder / "c";
    for (const std::string& path : {old, next, restored}) write(path, path);
    announce(11, old);
    files.read();
    registry = "[";
    files.on_move();
    announce(22, next);
    ASSERT_NE(files.find("22"), nullptr);
    EXPECT_EQ(files.find("22")->path, next);
    ASSERT_NE(files.find("11"), nullptr);
    EXPECT_EQ(files.find("11")->path, old);
    // Back again: the file is still the one that was announced.
    change_later(old, [&] { write(old, "other"); });
    registry = "[";
    files.on_move();
    announce(11, old);
    EXPECT_FALSE(files.find("11")->identity.is(status_of(old)));
}

TEST_F(AssetFilesTest, UnrequestedEventsDoNotAccumulate) {
    const std::string path = folder / "picture";
    write(path, "picture");
    std::size_t most = 0;
    constexpr std::uint64_t kEvents = 20000;
    for (std::uint64_t number = 1; number <= kEvents; ++number) {
        // The other events are not registered, as for a tool that repeats its assetId.
        announce(number, path, number <= 10);
        most = std::max(most, files.unread());
        if (number % 7 == 0) run_loop();
    }
    EXPECT_LE(most, 1100u);
    EXPECT_LE(lists, 20);
    EXPECT_NE(files.find("10"), nullptr);
    EXPECT_EQ(files.find("11"), nullptr);
}

TEST_F(AssetFilesTest, GrowingRegistryIsReadLessOften) {
    const std::string path = folder / "picture";
    write(path, "picture");
    for (std::uint64_t number = 1; number <= 20000; ++number) {
        announce(number, path);
        run_loop();
    }
    EXPECT_LE(lists, 10);
    EXPECT_GE(lists, 2);
    ASSERT_NE(files.find("20000"), nullptr);
}

TEST_F(AssetFilesTest, LateReadFindsTheFileOfItsEvent) {
    const std::string path = folder / "picture";
    write(path, "picture");
    announce(1, path);
    write(path, "something else");
    for (std::uint64_t number = 2; number <= 3000; ++number) {
        announce(number, path);
        run_loop();
    }
    const AssetFile* first = files.find("1");
    ASSERT_NE(first, nullptr);
    EXPECT_FALSE(first->identity.is(status_of(path)));
    const AssetFile* last = files.find("3000");
    ASSERT_NE(last, nullptr);
    EXPECT_TRUE(last->identity.is(status_of(path)));
}

}  // namespace
}  // namespace narratoria::web
