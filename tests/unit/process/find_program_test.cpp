// SPDX-License-Identifier: Apache-2.0
#include "process/find_program.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "conformance/folder.hpp"

namespace {

using narratoria::process::find_program;

class FindProgramTest : public testing::Test {
protected:
    std::string add(const std::string& path, mode_t mode) const {
        return folder.write(path, "#!/bin/sh\n", mode);
    }
    std::string find(const std::string& name) {
        reason.clear();
        return find_program(
            name, {"HOME=/", "PATH=:relative:" + root + "/first:" + root + "/second"}, reason);
    }

    const narratoria::test::Folder folder;
    const std::string& root = folder.path();
    std::string reason;
};

TEST_F(FindProgramTest, TakesFirstProgramInPath) {
    const std::string second = add("second/light", 0755);
    EXPECT_EQ(find("light"), second);
    const std::string first = add("first/light", 0755);
    EXPECT_EQ(find("light"), first);
    EXPECT_EQ(reason, "");
}

TEST_F(FindProgramTest, SkipsDirectoriesAndNonExecutableFiles) {
    std::filesystem::create_directories(folder / "first/light");
    const std::string second = add("second/light", 0755);
    EXPECT_EQ(find("light"), second);
    add("first/door", 0644);
    const std::string door = add("second/door", 0755);
    EXPECT_EQ(find("door"), door);
}

TEST_F(FindProgramTest, ReasonNamesSearchedPath) {
    EXPECT_EQ(find("light"), "");
    EXPECT_EQ(reason, "there is no program \"light\" in the tools' PATH (:relative:" + root +
                          "/first:" + root + "/second)");
    EXPECT_EQ(find_program("sh", {}, reason), "");
    EXPECT_EQ(reason, "there is no program \"sh\" in the tools' PATH ()");
}

TEST_F(FindProgramTest, KeepsNameWithSlash) {
    EXPECT_EQ(find("./light"), "./light");
    EXPECT_EQ(find("/nowhere/light"), "/nowhere/light");
}

}  // namespace
