// SPDX-License-Identifier: Apache-2.0
#include "session/output_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "conformance/folder.hpp"

namespace narratoria::session {
namespace {

namespace fs = std::filesystem;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

class OutputFolderTest : public testing::Test {
protected:
    std::unique_ptr<OutputFolder> make(std::string_view id = "evening", bool may_be_kept = false) {
        return OutputFolder::create(base, id, may_be_kept, why);
    }
    static mode_t mode_of(const std::string& path) {
        struct stat status {};
        EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
        return status.st_mode & 07777;
    }
    static void write(const std::string& path) { std::ofstream(path) << "x"; }
    static void set_age(const std::string& path, time_t seconds) {
        const timeval then{std::time(nullptr) - seconds, 0};
        const timeval times[2] = {then, then};
        ASSERT_EQ(::utimes(path.c_str(), times), 0);
    }
    void make_abandoned(const std::string& name) {
        fs::create_directories(base + "/" + name);
        set_age(base + "/" + name, 60);
    }

    test::Folder folder;
    const std::string base = folder / "base";
    std::string why;
};

TEST_F(OutputFolderTest, IsPrivateAndIsRemovedWithItsContent) {
    std::string path;
    {
        const auto output = make();
        ASSERT_NE(output, nullptr) << why;
        path = output->path();
        EXPECT_EQ(path, base + "/session-evening");
        EXPECT_EQ(mode_of(base), 0700u);
        EXPECT_EQ(mode_of(path), 0700u);
        fs::create_directories(path + "/a/b");
        write(path + "/a/b/torch.png");
        EXPECT_TRUE(output->holds(path + "/a/b/torch.png"));
        EXPECT_FALSE(output->holds(path));
        EXPECT_FALSE(output->holds(path + "-2/torch.png"));
    }
    EXPECT_FALSE(fs::exists(path));
    EXPECT_TRUE(fs::exists(base)) << "the host's own folder stays";
}

TEST_F(OutputFolderTest, IsUsableUnderAnyUmask) {
    const std::string new_base = base + "-new";
    const mode_t before = ::umask(0777);
    const auto made = OutputFolder::create(new_base, "evening", false, why);
    ::umask(before);
    ASSERT_NE(made, nullptr) << why;
    EXPECT_EQ(mode_of(new_base), 0700u);
    EXPECT_EQ(mode_of(made->path()), 0700u);
}

TEST_F(OutputFolderTest, DoesNotFollowALinkInPlaceOfItsBase) {
    fs::create_directories(folder / "victim");
    fs::create_directory_symlink(folder / "victim", base);
    EXPECT_EQ(make(), nullptr);
    EXPECT_THAT(why, HasSubstr("is not a folder, or is a link"));
    EXPECT_THAT(why, Not(HasSubstr("remove"))) << "it is the host's";
    EXPECT_TRUE(fs::is_empty(folder / "victim"));
}

TEST_F(OutputFolderTest, RefusesABaseThatOthersMayEnter) {
    fs::create_directories(base);
    ASSERT_EQ(::chmod(base.c_str(), 0755), 0);
    EXPECT_EQ(make(), nullptr);
    EXPECT_THAT(why, HasSubstr("is open to other users; name a folder"));
    EXPECT_THAT(why, Not(HasSubstr("chmod")))
        << "never suggest chmod; the host may have named /tmp";
}

TEST_F(OutputFolderTest, RefusesABaseOfAnotherUser) {
    if (::geteuid() == 0) {
        fs::create_directories(base);
        ASSERT_EQ(::chmod(base.c_str(), 0700), 0);
        ASSERT_EQ(::chown(base.c_str(), 65534, 65534), 0);
        EXPECT_EQ(make(), nullptr);
    } else {
        EXPECT_EQ(OutputFolder::create("/root", "evening", false, why), nullptr);
    }
    EXPECT_FALSE(why.empty());
}

TEST_F(OutputFolderTest, LinkWithTheSessionsNameIsNotUsed) {
    fs::create_directories(folder / "victim");
    write(folder / "victim/precious");
    fs::create_directories(base);
    ASSERT_EQ(::chmod(base.c_str(), 0700), 0);
    fs::create_directory_symlink(folder / "victim", base + "/session-evening");
    auto output = make();
    ASSERT_NE(output, nullptr) << why;
    EXPECT_NE(output->path(), base + "/session-evening");
    EXPECT_THAT(output->path(), HasSubstr(base + "/session-evening-"));
    // A link that a tool put into the folder is not followed when the folder is removed.
    fs::create_directory_symlink(folder / "victim", output->path() + "/link");
    output.reset();
    EXPECT_TRUE(fs::exists(folder / "victim/precious"));
}

TEST_F(OutputFolderTest, SessionsWithTheSameIdHaveSeparateFolders) {
    const auto first = make();
    const auto second = make();
    ASSERT_TRUE(first && second) << why;
    EXPECT_NE(first->path(), second->path());
}

TEST_F(OutputFolderTest, IdThatIsAValidFileNameIsKept) {
    for (const std::string& id : std::vector<std::string>{"AZ-az_09.x", std::string(100, 'x')}) {
        const auto output = make(id);
        ASSERT_NE(output, nullptr) << why;
        EXPECT_EQ(output->path(), base + "/session-" + id);
    }
}

TEST_F(OutputFolderTest, IdThatIsNotAValidFileNameIsReplaced) {
    for (const std::string& id :
         std::vector<std::string>{"../../etc", "a/b", "", "a b", std::string(101, 'x')}) {
        const auto output = make(id);
        ASSERT_NE(output, nullptr) << why;
        EXPECT_EQ(fs::path(output->path()).parent_path(), base) << id;
        EXPECT_TRUE(fs::is_directory(output->path()));
    }
}

TEST_F(OutputFolderTest, KeptFolderStaysForADay) {
    std::string path;
    {
        const auto output = make("evening", true);
        ASSERT_NE(output, nullptr) << why;
        path = output->path();
        EXPECT_THAT(path, EndsWith("/kept-session-evening"));
        write(path + "/torch.png");
        output->keep();
    }
    EXPECT_TRUE(fs::exists(path + "/torch.png"));
    OutputFolder::remove_abandoned(base);
    EXPECT_TRUE(fs::exists(path + "/torch.png"));
    set_age(path, 25 * 60 * 60);
    OutputFolder::remove_abandoned(base);
    EXPECT_FALSE(fs::exists(path));
}

TEST_F(OutputFolderTest, LatestHundredAreKept) {
    const auto living = make();
    for (int i = 0; i < 102; ++i) {
        const std::string path = base + "/kept-session-" + std::to_string(i);
        fs::create_directories(path);
        write(path + "/torch.png");
        set_age(path, 10'000 - i);
    }
    OutputFolder::remove_abandoned(base);
    EXPECT_FALSE(fs::exists(base + "/kept-session-1"));
    EXPECT_TRUE(fs::exists(base + "/kept-session-2/torch.png"));
    EXPECT_TRUE(fs::exists(base + "/kept-session-101/torch.png"));
}

TEST_F(OutputFolderTest, FolderInUseIsNotRemovedForLaterOnes) {
    const auto living = make("living", true);
    ASSERT_NE(living, nullptr) << why;
    set_age(living->path(), 20'000);
    for (int i = 0; i < 102; ++i)
        fs::create_directories(base + "/kept-session-" + std::to_string(i));
    OutputFolder::remove_abandoned(base);
    EXPECT_TRUE(fs::exists(living->path()));
}

TEST_F(OutputFolderTest, FoldersOfKilledHostsAreRemovedButNotThoseInUse) {
    const auto living = make("living");
    const auto living_kept = make("living", true);
    ASSERT_TRUE(living && living_kept) << why;
    set_age(living->path(), 60);
    set_age(living_kept->path(), 25 * 60 * 60);
    fs::create_directories(base + "/session-dead/deep");
    set_age(base + "/session-dead", 60);
    fs::create_directories(base + "/kept-session-dead");
    set_age(base + "/kept-session-dead", 25 * 60 * 60);
    fs::create_directories(base + "/other");
    OutputFolder::remove_abandoned(base);
    EXPECT_FALSE(fs::exists(base + "/session-dead"));
    EXPECT_FALSE(fs::exists(base + "/kept-session-dead"));
    EXPECT_TRUE(fs::exists(base + "/other")) << "not an output folder";
    EXPECT_TRUE(fs::exists(living->path()));
    EXPECT_TRUE(fs::exists(living_kept->path()));
}

TEST_F(OutputFolderTest, EachSessionRemovesFoldersOfKilledHosts) {
    ASSERT_NE(make(), nullptr) << why;
    make_abandoned("session-dead");
    ASSERT_NE(make(), nullptr) << why;
    EXPECT_FALSE(fs::exists(base + "/session-dead"));
}

TEST_F(OutputFolderTest, NewFolderIsNotRemovedBeforeItsHostLocksIt) {
    fs::create_directories(base + "/session-new");
    fs::permissions(base, fs::perms::owner_all);
    OutputFolder::remove_abandoned(base);
    EXPECT_TRUE(fs::exists(base + "/session-new"));
}

// The total cost of many sessions must not be quadratic in their number.
TEST_F(OutputFolderTest, ManySessionsScanTheBaseRarely) {
    std::vector<std::unique_ptr<OutputFolder>> living;
    size_t read = 0;
    for (int session = 0; session < 200; ++session) {
        const std::string abandoned = base + "/session-dead";
        if (session > 0) make_abandoned("session-dead");
        living.push_back(make(std::to_string(session)));
        ASSERT_NE(living.back(), nullptr) << why;
        if (!fs::exists(abandoned)) ++read;
    }
    EXPECT_LE(read, 12u);
    EXPECT_GE(read, 5u);
}

TEST_F(OutputFolderTest, ForeignEntriesAreScannedRarely) {
    ASSERT_NE(make(), nullptr) << why;
    for (int file = 0; file < 100; ++file) {
        fs::create_directories(base + "/other-" + std::to_string(file));
    }
    ASSERT_NE(make(), nullptr) << why;
    make_abandoned("session-dead");
    for (int session = 0; session < 50; ++session) ASSERT_NE(make(), nullptr) << why;
    EXPECT_TRUE(fs::exists(base + "/session-dead"));
    for (int session = 0; session < 60; ++session) ASSERT_NE(make(), nullptr) << why;
    EXPECT_FALSE(fs::exists(base + "/session-dead"));
}

}  // namespace
}  // namespace narratoria::session
