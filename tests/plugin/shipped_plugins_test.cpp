// SPDX-License-Identifier: Apache-2.0
// The shipped plugins are found where they are built and work as their READMEs say.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugin/story_host.hpp"
#include "support/folders.hpp"

namespace narratoria::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ShippedPluginTest : public ::testing::TestWithParam<std::string>, protected StoryHost {
protected:
    ShippedPluginTest() : StoryHost(GetParam()) {}

    static std::string id() { return "narratoria." + GetParam(); }

    // The first code block of `language` in the plugin's README.
    static std::string example(const std::string& language) {
        std::ifstream in(test::in_source("plugins/") + GetParam() + "/README.md");
        const std::string text{std::istreambuf_iterator<char>(in), {}};
        const std::string begin = "```" + language + "\n";
        const size_t at = text.find(begin);
        if (at == std::string::npos) return "";
        return text.substr(at + begin.size(), text.find("```", at + 3) - at - begin.size());
    }
    Json plugin() const {
        const Json all(session->plugins().view());
        for (const Json& each : all.elements()) {
            if (each["id"].string() == id()) return each;
        }
        throw std::out_of_range("no plugin " + id() + " in " + all.text());
    }
};

TEST_P(ShippedPluginTest, LoadsInAStoryThatNamesIt) {
    folder.write("story.toml", "title = \"It is not in plugins/\"\n" + example("toml"));
    open();
    EXPECT_EQ(plugin()["state"].string(), "active") << log;
    EXPECT_EQ(log, "");
}

TEST_P(ShippedPluginTest, DoesNotLoadUnlessNamed) {
    folder.write("story.toml", "title = \"None\"\n");
    open();
    EXPECT_THAT(std::string(session->plugins().view()), Not(HasSubstr(id())));
}

TEST_P(ShippedPluginTest, ProgramInItsReadmeWorks) {
    const std::string program = example("python");
    if (program.empty()) return;
    folder.write("narrator.py", program);
    folder.write("story.toml", "title = \"As the README says\"\n" + example("toml"));
    open();
    EXPECT_EQ(prompt("Hello?").narrative, "You say: Hello?") << log;
    EXPECT_EQ(prompt("Anybody?").narrative, "You say: Anybody?") << log;
}

TEST_P(ShippedPluginTest, IsListedWithThePathItWasLoadedFrom) {
    for (int i = 0; i < 2; ++i) {
        const Folder other;
        std::filesystem::create_directories(other / "plugins");
        const std::string link = other / "plugins/it.so";
        std::filesystem::create_symlink(built_plugin(GetParam()), link);
        other.write("story.toml", "title = \"One of two\"\n" + example("toml"));
        if (!engine) engine.emplace();
        session.emplace(*engine, SessionOptions{.story = other.path()});
        EXPECT_EQ(plugin()["path"].string(), link);
    }
}

INSTANTIATE_TEST_SUITE_P(All, ShippedPluginTest,
                         ::testing::Values("event_log", "launcher", "narrator_llm",
                                           "narrator_process", "slurm"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace narratoria::test
