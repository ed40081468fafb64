// SPDX-License-Identifier: Apache-2.0
#include "plugin/search.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "conformance/folder.hpp"
#include "support/folders.hpp"

namespace narratoria::plugin {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Folders with files that claim to be plugins; no file is loaded.
class PluginSearch : public ::testing::Test {
protected:
    void plugin(const std::string& file, const std::string& id, const std::string& abi = "1.0") {
        std::filesystem::create_directories(std::filesystem::path(folder / file).parent_path());
        std::filesystem::copy_file(test::in_build("lib/libnarratoria.so.1"), folder / file);
        folder.write(file + ".json", R"({"schema":"plugin/1","id":")" + id +
                                         R"(","name":"N","version":"1","abi":")" + abi +
                                         R"(","extensions":[]})");
    }
    std::vector<Place> two_places() const {
        return {{folder / "story/plugins", "the story", false, true},
                {folder / "installed", "the installation", true, false}};
    }
    std::vector<std::string> loads(const Wishes& wishes, bool safe = false) {
        found = search(wishes, two_places(), safe);
        std::vector<std::string> paths;
        for (const Candidate* each : found.loads)
            paths.push_back(each->path.substr(folder.path().size() + 1));
        return paths;
    }
    test::Folder folder;
    Search found;
};

TEST_F(PluginSearch, LoadsTheStorysFolderInNameOrder) {
    plugin("story/plugins/b.so", "b");
    plugin("story/plugins/a.so", "a");
    plugin("installed/c.so", "c");
    EXPECT_THAT(loads({}), ElementsAre("story/plugins/a.so", "story/plugins/b.so"));
}

TEST_F(PluginSearch, FirstPlaceWithAnIdWins) {
    plugin("installed/c.so", "c");
    plugin("installed/d.so", "d");
    EXPECT_THAT(loads({{"c"}, "", {}}), ElementsAre("installed/c.so"));
    EXPECT_THAT(loads({{"d", "c"}, "", {}}), ElementsAre("installed/d.so", "installed/c.so"));
}

TEST_F(PluginSearch, PathTakesPrecedenceOverTheSameId) {
    plugin("mine/c.so", "c");
    plugin("story/plugins/c.so", "c");
    EXPECT_THAT(loads({{folder / "mine/c.so"}, "", {"c"}}), ElementsAre("mine/c.so"));
    EXPECT_EQ(found.places[1].candidates[0].verdict, Verdict::Refused);
    EXPECT_THAT(found.places[1].candidates[0].reason, HasSubstr("comes before it"));
}

TEST_F(PluginSearch, FileListedTwiceIsLoadedOnce) {
    plugin("mine/c.so", "c");
    EXPECT_THAT(
        loads({{folder / "mine/c.so", folder / "mine/../mine/c.so", folder / "none.so"}, "", {}}),
        ElementsAre("mine/c.so"));
    ASSERT_EQ(found.missing.size(), 1U);
    EXPECT_EQ(found.missing[0].requested, folder / "none.so");
}

TEST_F(PluginSearch, IncompatibleAbiIsRefusedWithBothVersions) {
    plugin("story/plugins/a.so", "a", "2.0");
    EXPECT_THAT(loads({}), IsEmpty());
    EXPECT_THAT(found.missing.at(0).reason,
                HasSubstr("it is built for ABI 2.0, but this host has ABI 1.0"));
}

TEST_F(PluginSearch, LargerMinorVersionIsAccepted) {
    plugin("story/plugins/a.so", "a", "1.9");
    EXPECT_THAT(loads({}), ElementsAre("story/plugins/a.so"));
}

TEST_F(PluginSearch, RequestedButAbsentPluginIsMissing) {
    EXPECT_THAT(loads({{"x"}, "", {"y"}}), IsEmpty());
    ASSERT_EQ(found.missing.size(), 2U);
    EXPECT_EQ(found.missing[0].requested, "x");
    EXPECT_THAT(found.missing[0].reason, HasSubstr("requested by the host"));
    EXPECT_THAT(found.missing[1].reason, HasSubstr("requested by the story"));
}

TEST_F(PluginSearch, SafeModeSkipsTheStorysPlugins) {
    plugin("story/plugins/a.so", "a");
    plugin("installed/c.so", "c");
    plugin("mine/m.so", "m");
    EXPECT_THAT(loads({{folder / "mine/m.so", "c"}, "", {}}, true),
                ElementsAre("mine/m.so", "installed/c.so"));
    EXPECT_EQ(found.places[1].candidates[0].verdict, Verdict::Refused);
}

TEST_F(PluginSearch, SafeModeReportsEachStoryPluginOnce) {
    plugin("story/plugins/a.so", "a");
    plugin("story/plugins/b.so", "b");
    plugin("story/plugins/c.so", "c");
    plugin("installed/c.so", "c");
    EXPECT_THAT(loads({{"c"}, "", {"b"}}, true), ElementsAre("installed/c.so"));
    ASSERT_EQ(found.missing.size(), 2U);
    EXPECT_EQ(found.missing[0].requested, "b");
    EXPECT_EQ(found.missing[1].requested, folder / "story/plugins/a.so");
    for (const Search::Missing& missing : found.missing) {
        EXPECT_THAT(missing.reason, HasSubstr("NARRATORIA_SAFE_MODE is set"));
    }
}

TEST_F(PluginSearch, IncompatibleAbiIsReportedOnce) {
    plugin("story/plugins/a.so", "a", "2.0");
    EXPECT_THAT(loads({{}, "", {"a"}}), IsEmpty());
    EXPECT_EQ(found.missing.size(), 1U);
}

TEST_F(PluginSearch, FolderWithTwoNamesIsListedOnce) {
    plugin("installed/c.so", "c");
    std::filesystem::create_directory_symlink(folder / "installed", folder / "other");
    const std::vector<Place> places = {{folder / "other", "NARRATORIA_PLUGIN_PATH", false, false},
                                       {folder / "installed", "the installation", true, false}};
    auto json_of = [&](bool is_safe) {
        std::string out;
        append_json(out, search({{"c"}, "", {}}, places, is_safe));
        return out;
    };
    for (const bool is_safe : {false, true}) {
        const std::string json = json_of(is_safe);
        EXPECT_THAT(json, HasSubstr("\"verdict\":\"loads\""));
        EXPECT_THAT(json, Not(HasSubstr("\"verdict\":\"refused\"")));
        const char* path = is_safe ? "/installed/c.so" : "/other/c.so";
        EXPECT_THAT(json, HasSubstr(path));
        EXPECT_THAT(json.substr(json.find("/c.so\"") + 1), Not(HasSubstr("/c.so\"")));
    }
}

TEST_F(PluginSearch, HiddenAndOtherFilesAreIgnored) {
    plugin("story/plugins/.a.so", "a");
    plugin("story/plugins/b.so.old", "b");
    EXPECT_THAT(loads({}), IsEmpty());
    EXPECT_THAT(found.places[1].candidates, IsEmpty());
}

TEST(PluginPlaces, NeverIncludeTheCurrentFolder) {
    ::setenv("NARRATORIA_PLUGIN_PATH", ":relative:/absolute:./x:", 1);
    ::setenv("HOME", "also-relative", 1);
    std::vector<std::string> folders;
    for (const Place& place : places("/story")) {
        if (place.from != "the installation" && !place.skipped) folders.push_back(place.folder);
    }
    EXPECT_THAT(folders, ElementsAre("/absolute", "/story/plugins"));
}

}  // namespace
}  // namespace narratoria::plugin
