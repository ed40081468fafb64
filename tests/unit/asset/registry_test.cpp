// SPDX-License-Identifier: Apache-2.0
#include "asset/registry.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "base/descriptor.hpp"
#include "conformance/folder.hpp"
#include "conformance/json.hpp"
#include "support/variable.hpp"

namespace narratoria::asset {
namespace {

using test::Json;
using ::testing::HasSubstr;

class RegistryTest : public ::testing::Test {
protected:
    static Asset asset(std::string path, std::string id = "torch") {
        Asset one;
        one.plan_id = "plan-1";
        one.tool_id = "a";
        one.asset_id = std::move(id);
        one.kind = "image";
        one.media_type = "image/png";
        one.path = std::move(path);
        one.execution = 1;
        one.seq = 7;
        one.attempt = 1;
        return one;
    }
    std::string code_of(Asset one) {
        const auto refusal = registry.add(std::move(one));
        message = refusal ? refusal->message : "";
        return refusal ? refusal->code : "";
    }
    Json listed(uint64_t after = 0) const {
        std::string text;
        registry.append_json(text, after);
        return Json(text);
    }

    test::Folder folder;
    Registry registry{folder.path()};
    std::string message;
};

constexpr const char* kScratch = "narratoria-scratch-01234567-89ab-4cde-8f01-23456789abcd-1";

TEST_F(RegistryTest, RefusesFilesInsideAScratchFolder) {
    const test::Variable temporary("TMPDIR", folder.path());
    std::filesystem::create_directory(folder / kScratch);
    folder.write(std::string(kScratch) + "/torch.png", "");
    EXPECT_EQ(code_of(asset(folder / kScratch + "/torch.png")), "ASSET_TEMPORARY");
    EXPECT_THAT(message, HasSubstr("no_filesystem_write"));
    std::filesystem::create_directory_symlink(folder.path(), folder / "link");
    EXPECT_EQ(code_of(asset("link/" + std::string(kScratch) + "/torch.png")), "ASSET_TEMPORARY");
    EXPECT_EQ(listed(), Json("[]"));
}

TEST_F(RegistryTest, AcceptsFilesInFoldersWithSimilarNames) {
    const test::Variable temporary("TMPDIR", folder.path());
    for (const std::string& name :
         {std::string("narratoria-scratch-story"), "stories/" + std::string(kScratch)}) {
        std::filesystem::create_directories(folder / name);
        folder.write(name + "/torch.png", "");
        EXPECT_EQ(code_of(asset(name + "/torch.png", name)), "") << message;
    }
}

TEST_F(RegistryTest, ListsAllAssets) {
    folder.write("torch \"lit\".png", "");
    EXPECT_EQ(listed(), Json("[]"));
    EXPECT_EQ(code_of(asset("torch \"lit\".png")), "");
    Asset second = asset(folder / "torch \"lit\".png", "second");
    second.metadata = R"({"width": 2})";
    EXPECT_EQ(code_of(second), "");
    ASSERT_EQ(listed().size(), 2u);
    const Json first = listed()[0];
    EXPECT_EQ(first["path"].string(), folder / "torch \"lit\".png");
    EXPECT_EQ(first["metadata"], Json("{}"));
    EXPECT_EQ(first["seq"].integer(), 7);
    EXPECT_EQ(listed()[1]["metadata"], Json(R"({"width":2})"));
}

TEST_F(RegistryTest, ListsAssetsNewerThanARecord) {
    folder.write("1.png", "");
    EXPECT_EQ(registry.latest_seq(), 0u);
    EXPECT_EQ(code_of(asset("1.png", "first")), "");
    EXPECT_EQ(code_of(asset("1.png", "second")), "");
    EXPECT_EQ(listed(registry.latest_seq()), Json("[]"));
    Asset again = asset("1.png", "first");
    again.attempt = 2;
    again.seq = 20;
    EXPECT_EQ(code_of(again), "");
    ASSERT_EQ(listed(7).size(), 1u);
    EXPECT_EQ(listed(7)[0]["assetId"].string(), "first")
        << "although it replaced an older asset in place";
    EXPECT_EQ(registry.latest_seq(), 20u);
}

// covers: 000-7-validate-files
TEST_F(RegistryTest, RefusesUnreadableFilesWithTheReason) {
    EXPECT_EQ(code_of(asset("nothing.png")), "ASSET_UNREADABLE");
    EXPECT_THAT(message, HasSubstr(folder / "nothing.png"));
    EXPECT_THAT(message, HasSubstr("No such file"));
    EXPECT_EQ(code_of(asset(".")), "ASSET_UNREADABLE");
    EXPECT_THAT(message, HasSubstr("not a regular file"));
    folder.write("file", "");
    EXPECT_EQ(code_of(asset("file/below")), "ASSET_UNREADABLE");
    EXPECT_EQ(code_of(asset("/dev/null")), "ASSET_UNREADABLE");
    EXPECT_EQ(code_of(asset(std::string("fi\0le", 5))), "ASSET_UNREADABLE");
    EXPECT_THAT(message, HasSubstr("NUL"));
    EXPECT_EQ(code_of(asset(std::string(5000, 'x'))), "ASSET_UNREADABLE");
    EXPECT_TRUE(registry.assets().empty());
}

TEST_F(RegistryTest, RefusesAFileWithoutReadPermission) {
    folder.write("secret.png", "", 0000);
    if (::geteuid() == 0) {
        // Root can read every file. A thread that switches its own effective user does the check;
        // the raw system call changes this thread only.
        std::string code;
        std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
        std::thread([&] {
            ASSERT_EQ(::syscall(SYS_setresuid, -1, 65534, -1), 0);
            code = code_of(asset("secret.png"));
        }).join();
        EXPECT_EQ(code, "ASSET_UNREADABLE");
    } else {
        EXPECT_EQ(code_of(asset("secret.png")), "ASSET_UNREADABLE");
    }
    EXPECT_THAT(message, HasSubstr("cannot be read"));
}

TEST_F(RegistryTest, DoesNotOpenAFifoOrASocket) {
    // Opening a fifo without a writer would block, and opening it with one would be visible to the
    // writer.
    const std::string fifo = folder.fifo("fifo");
    const Descriptor writer(::open(fifo.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
    ASSERT_TRUE(writer);
    EXPECT_EQ(code_of(asset("fifo")), "ASSET_UNREADABLE");
    const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::snprintf(address.sun_path, sizeof address.sun_path, "%s", (folder / "socket").c_str());
    ASSERT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(code_of(asset("socket")), "ASSET_UNREADABLE");
}

TEST_F(RegistryTest, FollowsASymbolicLinkToAFile) {
    folder.write("real/torch.png", "");
    ASSERT_EQ(::symlink("real/torch.png", (folder / "link.png").c_str()), 0);
    ASSERT_EQ(::symlink("nowhere", (folder / "dangling.png").c_str()), 0);
    ASSERT_EQ(::symlink("loop.png", (folder / "loop.png").c_str()), 0);
    EXPECT_EQ(code_of(asset("link.png", "1")), "");
    EXPECT_EQ(code_of(asset("dangling.png", "2")), "ASSET_UNREADABLE");
    EXPECT_EQ(code_of(asset("loop.png", "3")), "ASSET_UNREADABLE");
    EXPECT_EQ(registry.assets()[0].path, folder / "link.png") << "as the tool named it";
}

TEST_F(RegistryTest, RefusesInvalidMediaTypes) {
    folder.write("torch.png", "");
    Asset one = asset("torch.png");
    one.media_type = "png \"" + std::string(200, 'x');
    EXPECT_EQ(code_of(one), "ASSET_INVALID");
    EXPECT_THAT(message, HasSubstr("image/png"));
    EXPECT_LT(message.size(), 200u);
    EXPECT_EQ(code_of(asset("torch.png")), "") << "the refused asset did not take the assetId";
}

// covers: 000-4.3-asset-id-unique
TEST_F(RegistryTest, AssetIdIsUniqueWithinAnAttempt) {
    folder.write("1.png", "");
    folder.write("2.png", "");
    EXPECT_EQ(code_of(asset("1.png")), "");
    EXPECT_EQ(code_of(asset("2.png")), "ASSET_DUPLICATE");
    EXPECT_EQ(registry.assets()[0].path, folder / "1.png");

    Asset other_tool = asset("2.png");
    other_tool.tool_id = "b";
    EXPECT_EQ(code_of(other_tool), "");
    Asset other_execution = asset("2.png");
    other_execution.execution = 2;
    EXPECT_EQ(code_of(other_execution), "") << "even from a plan with the same id";
    EXPECT_EQ(registry.assets().size(), 3u);
}

TEST_F(RegistryTest, LaterAttemptReplacesInPlace) {
    folder.write("1.png", "");
    folder.write("2.png", "");
    EXPECT_EQ(code_of(asset("1.png", "first")), "");
    EXPECT_EQ(code_of(asset("1.png", "second")), "");
    Asset again = asset("2.png", "first");
    again.attempt = 2;
    again.seq = 20;
    EXPECT_EQ(code_of(again), "");
    ASSERT_EQ(registry.assets().size(), 2u);
    EXPECT_EQ(registry.assets()[0].path, folder / "2.png");
    EXPECT_EQ(registry.assets()[0].seq, 20u);
    EXPECT_EQ(code_of(again), "ASSET_DUPLICATE");
    // A refused asset leaves the earlier attempt's asset unchanged.
    Asset missing = asset("missing.png", "second");
    missing.attempt = 2;
    EXPECT_EQ(code_of(missing), "ASSET_UNREADABLE");
    EXPECT_EQ(registry.assets()[1].path, folder / "1.png");
}

TEST_F(RegistryTest, NamesWithSeparatorsAreKeptApart) {
    folder.write("1.png", "");
    Asset one = asset("1.png", "b");
    one.tool_id = std::string("a\0", 2);
    Asset other = asset("1.png", std::string("\0b", 2));
    other.tool_id = "a";
    EXPECT_EQ(code_of(one), "");
    EXPECT_EQ(code_of(other), "") << "two different assets";
    EXPECT_EQ(registry.assets().size(), 2u);
}

TEST_F(RegistryTest, FilesAreNeitherChangedNorRemoved) {
    folder.write("torch.png", "picture");
    {
        Registry short_lived(folder.path());
        EXPECT_FALSE(short_lived.add(asset("torch.png")));
    }
    EXPECT_EQ(folder.read("torch.png"), "picture");
}

}  // namespace
}  // namespace narratoria::asset
