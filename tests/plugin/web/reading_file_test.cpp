// SPDX-License-Identifier: Apache-2.0
#include "web/reading_file.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "conformance/folder.hpp"

namespace narratoria::web {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(CheckedReading, AcceptsKnownNamesAndSortsThem) {
    EXPECT_EQ(checked_reading(
                  R"( {"details":true,"textSize":1.35, "lineWidth":"long","theme":"light"} )"),
              R"({"theme":"light","textSize":1.35,"lineWidth":"long","details":true})");
    EXPECT_EQ(checked_reading(R"({"textSize":2})"), R"({"textSize":2})");
    EXPECT_EQ(checked_reading("{}"), "{}");
}

TEST(CheckedReading, RefusesEverythingElse) {
    const std::vector<std::string> bad{"",
                                       "null",
                                       "[]",
                                       "\"dark\"",
                                       "{",
                                       R"({"theme":"dark"} x)",
                                       R"({"theme":"purple"})",
                                       R"({"theme":null})",
                                       R"({"theme":["dark"]})",
                                       R"({"textSize":"2"})",
                                       R"({"textSize":0})",
                                       R"({"textSize":4.5})",
                                       R"({"textSize":-1})",
                                       R"({"textSize":1e999})",
                                       R"({"textSize":NaN})",
                                       R"({"lineWidth":""})",
                                       R"({"lineWidth":"<b>"})",
                                       R"({"lineWidth":"abcdefghijklmnopq"})",
                                       R"({"details":1})",
                                       R"({"details":"true"})",
                                       R"({"draft":"I open"})",
                                       R"({"theme":"dark","theme":"light"})",
                                       R"({"theme":"dark","":1})",
                                       "{\"theme\":\"d\xff\"}",
                                       R"({"textSize":2)" + std::string(2000, ' ') + "}",
                                       std::string(2000, '[')};
    for (const std::string& text : bad) EXPECT_EQ(checked_reading(text), std::nullopt) << text;
}

class ReadingFileTest : public testing::Test {
protected:
    ReadingFile file_at(const std::string& path) {
        return ReadingFile(path, [this](const std::string& what) { warnings.push_back(what); });
    }

    test::Folder folder;
    std::vector<std::string> warnings;
};

TEST_F(ReadingFileTest, KeepsValuesForTheNextSession) {
    const std::string path = folder / "state/narratoria/reading.json";
    ReadingFile file = file_at(path);
    EXPECT_EQ(file.read(), "{}");
    EXPECT_TRUE(file.write(R"({"theme":"light"})"));
    EXPECT_TRUE(file.write(R"({"theme":"dark"})"));
    EXPECT_EQ(file_at(path).read(), R"({"theme":"dark"})");
    EXPECT_THAT(warnings, IsEmpty());
    // The file is private to its owner, and no temporary file is left next to it.
    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
    ASSERT_EQ(::stat((folder / "state/narratoria").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700u);
    std::vector<std::string> names;
    for (const auto& one : std::filesystem::directory_iterator(folder / "state/narratoria")) {
        names.push_back(one.path().filename());
    }
    EXPECT_THAT(names, ElementsAre("reading.json"));
}

TEST_F(ReadingFileTest, InvalidFileIsIgnoredAndReportedOnce) {
    const std::string path = folder / "reading.json";
    const std::vector<void (*)(const std::string&)> ways{
        [](const std::string& at) { std::ofstream(at) << "not JSON"; },
        [](const std::string& at) { std::ofstream(at) << R"({"theme":"purple"})"; },
        [](const std::string& at) {
            std::ofstream(at).close();
            std::filesystem::resize_file(at, std::uintmax_t{1} << 40);
        },
        [](const std::string& at) { ASSERT_EQ(::mkfifo(at.c_str(), 0600), 0); },
        [](const std::string& at) { std::filesystem::create_directory(at); },
        [](const std::string& at) { std::filesystem::create_symlink("/dev/zero", at); },
        [](const std::string& at) { std::filesystem::create_symlink(at, at); },
    };
    for (const auto& make : ways) {
        warnings.clear();
        make(path);
        ReadingFile file = file_at(path);
        EXPECT_EQ(file.read(), "{}");
        EXPECT_EQ(file.read(), "{}");
        EXPECT_THAT(warnings, ElementsAre(HasSubstr(path + " are ignored: ")));
        std::filesystem::remove(path);
    }
}

TEST_F(ReadingFileTest, UnwritablePathIsReportedOnce) {
    folder.write("state", "a file");
    for (const std::string& path :
         {folder / "state/narratoria/reading.json", std::string("/proc/narratoria/reading.json")}) {
        warnings.clear();
        ReadingFile file = file_at(path);
        EXPECT_FALSE(file.write("{}"));
        EXPECT_FALSE(file.write("{}"));
        EXPECT_EQ(file.read(), "{}");
        EXPECT_THAT(warnings, ElementsAre(HasSubstr("kept only until")));
    }
    EXPECT_EQ(folder.read("state"), "a file");
}

}  // namespace
}  // namespace narratoria::web
