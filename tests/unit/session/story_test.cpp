// SPDX-License-Identifier: Apache-2.0
#include "session/story.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "conformance/folder.hpp"
#include "session/prompts.hpp"
#include "support/folders.hpp"
#include "unit/session/places.hpp"

namespace {

using namespace narratoria;
using namespace std::string_literals;
using session::load_story;
using session::places;
using session::Story;
using test::Folder;

const std::string kTitle = "title = \"T\"\n";

std::optional<Story> load(std::string_view toml, Faults& faults) {
    const Folder folder;
    folder.write("story.toml", toml);
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
    const Folder folder;
    folder.write("story.toml", kTitle + "[tools]\nallow_paths = [\"tools\"]\n");
    folder.write("prompts.json", R"({"prompts":[]})");
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
    const Folder folder;
    folder.write("story.toml", mark + kTitle);
    folder.write("prompts.json", mark + R"({"prompts":[]})");
    folder.write("state.schema.json", mark + "{}");
    Faults faults;
    const std::optional<Story> story = load_story(folder.path(), faults);
    ASSERT_TRUE(story) << describe_faults(faults, "");
    EXPECT_EQ(story->prompts_text, R"({"prompts":[]})");
}

TEST(Story, MustBeAFolderWithAStoryFile) {
    const Folder folder;
    Faults faults;
    EXPECT_FALSE(load_story(folder.path(), faults));
    EXPECT_EQ(places(faults), List{"story.toml:0:0  story-file"});
    EXPECT_NE(faults[0].message.find("there is no story.toml in"), std::string::npos);

    for (const std::string& missing : {folder.path() + "/nowhere", ""s, "a\0b"s,
                                       folder.path() + "/file", folder.path() + "/file/below"}) {
        folder.write("file", "");
        faults.clear();
        EXPECT_FALSE(load_story(missing, faults));
        ASSERT_EQ(places(faults), List{":0:0  story-folder"}) << missing;
        EXPECT_EQ(faults[0].rule, session::kStoryFolderRule);
    }
}

TEST(Story, UnreadableStoryIsReportedWithTheReason) {
    const Folder folder;
    std::filesystem::create_directory(folder / "story.toml");
    folder.fifo("prompts.json");
    Faults faults;
    EXPECT_FALSE(load_story(folder.path(), faults));
    EXPECT_EQ(places(faults), (List{"story.toml:0:0  story-file", "prompts.json:0:0  story-file"}))
        << "a pipe without a writer must not block";
    const Folder large;
    large.write("story.toml", kTitle + "#" + std::string(size_t{2} << 20, 'x'));
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
    const Folder folder;
    folder.write("story.toml", "x = 1\n");
    folder.write("prompts.json", "{}");
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
    const Folder folder;
    folder.write("story.toml", kTitle);
    folder.write("tools/good.tool.json", R"({"name":"good","input":{"type":"object"}})");
    Faults faults;
    EXPECT_TRUE(load_story(folder.path(), faults));
    folder.write("tools/a.tool.json", "{\"input\":\n {\"type\":\"objekt\"}}");
    folder.write("tools/b.tool.json", R"({"name":"c"})");
    EXPECT_FALSE(load_story(folder.path(), faults));
    EXPECT_EQ(places(faults), (List{"tools/a.tool.json:2:10 /input/type schema-keyword",
                                    "tools/b.tool.json:1:9 /name manifest-name"}));
}

}  // namespace
