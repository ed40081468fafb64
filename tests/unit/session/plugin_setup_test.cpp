// SPDX-License-Identifier: Apache-2.0
#include "session/plugin_setup.hpp"

#include "session_fixture.hpp"

namespace narratoria::session {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class PluginSetupTest : public SessionFixture {
protected:
    void tell_story() {
        settings.narrator.reset();
        settings.without_plugins = true;
        settings.story.emplace();
        settings.story->folder = "/nowhere";
        settings.story->prompts_text =
            R"({"prompts":[{"match":["wait"],"answers":[{"narrative":"Time passes."}]}]})";
    }
};

TEST_F(PluginSetupTest, StoryRequestsItsPluginsAndNarrator) {
    Story story;
    story.folder = "/story";
    story.plugins["org.example.map"] = "{}";
    story.narrator = "org.example.model";
    plugin::Wishes wishes;
    add_wishes(story, true, wishes);
    EXPECT_EQ(wishes.story_folder, "/story");
    EXPECT_THAT(wishes.named, ElementsAre("org.example.map"));
    EXPECT_EQ(wishes.narrator, "org.example.model");
    plugin::Wishes others;
    add_wishes(story, false, others);
    EXPECT_THAT(others.named, ElementsAre("org.example.map"));
    EXPECT_EQ(others.narrator, "");
}

TEST_F(PluginSetupTest, BuiltInNarratorIsNotSearchedAsAPlugin) {
    Story story;
    plugin::Wishes wishes;
    add_wishes(story, true, wishes);
    EXPECT_THAT(wishes.named, IsEmpty());
    EXPECT_EQ(wishes.narrator, "");
}

TEST_F(PluginSetupTest, TemplateNarratorNeedsAStory) {
    settings.narrator.reset();
    settings.narrator_id = kTemplateNarrator;
    open();
    EXPECT_FALSE(session->has_narrator());
    EXPECT_THAT(session->narrator_fault(), HasSubstr("name a story as well"));
}

TEST_F(PluginSetupTest, MissingNarratorIsAFaultWithTheReason) {
    tell_story();
    settings.story->narrator = "org.example.model";
    open();
    EXPECT_FALSE(session->has_narrator());
    EXPECT_THAT(session->narrator_fault(),
                HasSubstr("the narrator of story.toml, \"org.example.model\", is not available: "
                          "plugins are switched off"));
}

}  // namespace
}  // namespace narratoria::session
