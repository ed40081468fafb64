// SPDX-License-Identifier: Apache-2.0
#include "session/story.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "session/prompts.hpp"
#include "support/folders.hpp"
#include "unit/session/places.hpp"

namespace {

using namespace narratoria;
using namespace std::string_literals;
using session::load_story;
using session::places;
using session::Story;

const std::string kTitle = "title = \"T\"\n";

// A temporary story folder, removed in the destructor.
class Folder {
public:
    Folder() {
        std::string name = testing::TempDir() + "story-XXXXXX";
        if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
        path_ = std::filesystem::canonical(name);
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    Folder& with(const std::string& name, std::string_view text) {
        std::ofstream(path_ / name, std::ios::binary) << text;
        return *this;
    }
    std::string path() const { return path_.string(); }

private:
    std::filesystem::path path_;
};

std::optional<Story> load(std::string_view toml, Faults& faults) {
    Folder folder;
    folder.with("story.toml", toml);
    return load_story(folder.path(), faults);
}

std::vector<std::string> faults_of(std::string_view toml) {
    Faults faults;
    const bool loaded = load(toml, faults).has_value();
    EXPECT_EQ(loaded, faults.empty());
    return places(faults);
}

using List = std::vector<std::string>;

TEST(Story, IsReadFromItsResolvedFolder) {
    Folder folder;
    folder.with("story.toml", kTitle + "[tools]\nallow_paths = [\"tools\"]\n")
        .with("prompts.json", R"({"prompts":[]})");
    Faults faults;
    const std::optional<Story> story = load_story(folder.path() + "/.", faults);
    ASSERT_TRUE(story) << describe_faults(faults, "");
    EXPECT_EQ(story->folder, folder.path());
    EXPECT_EQ(story->title, "T");
    EXPECT_EQ(story->allow_paths, List{folder.path() + "/tools"});
    EXPECT_EQ(story->prompts_text, R"({"prompts":[]})");
}

TEST(Story, FilesMayBeginWithAByteOrderMark) {
    const std::string mark = "\xEF\xBB\xBF";
    Folder folder;
    folder.with("story.toml", mark + kTitle)
        .with("prompts.json", mark + R"({"prompts":[]})")
        .with("state.schema.json", mark + "{}");
    Faults faults;
    const std::optional<Story> story = load_story(folder.path(), faults);
    ASSERT_TRUE(story) << describe_faults(faults, "");
    EXPECT_EQ(story->prompts_text, R"({"prompts":[]})");
}

TEST(Story, MustBeAFolderWithAStoryFile) {
    Folder folder;
    Faults faults;
    EXPECT_FALSE(load_story(folder.path(), faults));
    EXPECT_EQ(places(faults), List{"story.toml:0:0  story-file"});
    EXPECT_NE(faults[0].message.find("there is no story.toml in"), std::string::npos);

    for (const std::string& missing : {folder.path() + "/nowhere", ""s, "a\0b"s,
                                       folder.path() + "/file", folder.path() + "/file/below"}) {
        folder.with("file", "");
        faults.clear();
        EXPECT_FALSE(load_story(missing, faults));
        ASSERT_EQ(places(faults), List{":0:0  story-folder"}) << missing;
        EXPECT_EQ(faults[0].rule, session::kStoryFolderRule);
    }
}

TEST(Story, UnreadableStoryIsReportedWithTheReason) {
    Folder folder;
    std::filesystem::create_directory(folder.path() + "/story.toml");
    ASSERT_EQ(mkfifo((folder.path() + "/prompts.json").c_str(), 0600), 0);
    Faults faults;
    EXPECT_FALSE(load_story(folder.path(), faults));
    EXPECT_EQ(places(faults), (List{"story.toml:0:0  story-file", "prompts.json:0:0  story-file"}))
        << "a pipe without a writer must not block";
    Folder large;
    large.with("story.toml", kTitle + "#" + std::string(size_t{2} << 20, 'x'));
    faults.clear();
    EXPECT_FALSE(load_story(large.path(), faults));
    EXPECT_EQ(places(faults), List{"story.toml:0:0  story-file"});
}

TEST(Story, NeedsThePromptsOfItsNarrator) {
    EXPECT_EQ(faults_of(kTitle + "[narrator]\nname = \"template\"\n"),
              List{"prompts.json:0:0  story-file"});
    EXPECT_EQ(faults_of(kTitle + "[narrator]\nname = \"org.example.llm\"\n"), List{});
}

TEST(Story, ListsTheFaultsOfBothFiles) {
    Folder folder;
    folder.with("story.toml", "x = 1\n").with("prompts.json", "{}");
    Faults faults;
    EXPECT_FALSE(load_story(folder.path(), faults));
    EXPECT_EQ(places(faults),
              (List{"story.toml:1:1 /x story-key", "story.toml:1:1 /title story-missing",
                    "prompts.json:1:1 /prompts prompts-missing"}));
}

TEST(Story, ExamplesAreValid) {
    Faults faults;
    const std::optional<Story> story =
        load_story(test::in_source("examples/stories/torch"), faults);
    ASSERT_TRUE(story) << describe_faults(faults, "");
    EXPECT_EQ(story->title, "The Torch and the Door");
    faults.clear();
    const auto prompts = session::read_prompts(story->prompts_text, faults);
    EXPECT_GT(prompts->entries.size(), 3u);
    EXPECT_FALSE(prompts->unmatched.empty());
}

TEST(Story, ManifestsOfItsToolsAreChecked) {
    Folder folder;
    folder.with("story.toml", kTitle);
    std::filesystem::create_directory(folder.path() + "/tools");
    folder.with("tools/good.tool.json", R"({"name":"good","input":{"type":"object"}})");
    Faults faults;
    EXPECT_TRUE(load_story(folder.path(), faults));
    folder.with("tools/a.tool.json", "{\"input\":\n {\"type\":\"objekt\"}}")
        .with("tools/b.tool.json", R"({"name":"c"})");
    EXPECT_FALSE(load_story(folder.path(), faults));
    EXPECT_EQ(places(faults), (List{"tools/a.tool.json:2:10 /input/type schema-keyword",
                                    "tools/b.tool.json:1:9 /name manifest-name"}));
}

}  // namespace
