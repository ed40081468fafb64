// SPDX-License-Identifier: Apache-2.0
// The plugin narratoria.launcher runs a command in front of a tool; everything else is as without
// it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugin/story_host.hpp"
#include "support/leftovers.hpp"

namespace narratoria::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LauncherTest : public ::testing::Test, protected StoryHost {
protected:
    LauncherTest() : StoryHost("launcher") {}

    void settings(const std::string& toml, const std::string& more = "") {
        story(more + "\n[plugins.\"narratoria.launcher\"]\n" + toml);
        open();
    }
    // A program that logs its arguments, one per line, and executes them.
    std::string wrapper(const std::string& name) {
        folder.write(
            name,
            "#!/bin/sh\nprintf '%s\\n' \"$@\" >>'" + folder / (name + ".log") + "'\nexec \"$@\"\n",
            0755);
        return name;
    }
    // Runs until it is ended; writes its process id and that of a child that lives equally long.
    std::string endless() {
        folder.tool("endless", "sleep 1000 & echo $! >'" + (folder / "child") + "'; echo $$ >'" +
                                   (folder / "self") + "'; wait");
        return "endless";
    }
    bool is_running() const { return folder.has("self") && !folder.read("self").empty(); }
    bool is_gone(const std::string& file) const {
        return ::kill(std::stoi(folder.read(file)), 0) != 0 && errno == ESRCH;
    }
    static constexpr std::string_view kEcho =
        "#!/bin/sh\n"
        "read -r request\n"
        "printf '{\"version\":\"0\",\"type\":\"done\",\"ok\":true,\"result\":%s}\\n' "
        "\"$request\"\n";
};

TEST_F(LauncherTest, ToolGetsItsRequestAndItsEventsArrive) {
    settings(R"(command = ["nice"])");
    folder.write("echo", kEcho, 0755);
    const Json tool = run_path("launcher:echo", R"("input":{"word":"Größe"})");
    ASSERT_TRUE(tool["ok"].boolean()) << tool.text();
    EXPECT_EQ(tool["result"]["input"]["word"].string(), "Größe");
    EXPECT_EQ(tool["events"].size(), 1U);
}

TEST_F(LauncherTest, CommandMayChangeTheEnvironment) {
    settings(R"(command = ["env", "X=1"])");
    folder.tool("says",
                "printf '{\"version\":\"0\",\"type\":\"done\",\"ok\":true,"
                "\"summary\":\"X is %s\"}\\n' \"$X\"");
    const Json tool = run_path("launcher:says");
    EXPECT_THAT(tool["events"].text(), HasSubstr("X is 1")) << tool.text();
}

TEST_F(LauncherTest, StoryProgramGetsTheAbsolutePathLast) {
    settings("command = [\"./" + wrapper("wrap") + "\", \"env\"]");
    folder.says("tools/door", {kDone});
    EXPECT_TRUE(run_path("launcher:tools/door")["ok"].boolean()) << log;
    EXPECT_THAT(lines_of(folder.read("wrap.log")), ElementsAre("env", folder / "tools/door"));
}

TEST_F(LauncherTest, PathThatIsNotLocalIsPassedUnchanged) {
    folder.says("here", {kDone});
    // The tool may exist only on the far side: `far` finds it under a different name.
    folder.write("far",
                 "#!/bin/sh\nprintf '%s' \"$1\" >'" + folder / "asked" + "'\nexec '" +
                     folder / "here" + "'\n",
                 0755);
    settings(R"(command = ["./far"])");
    EXPECT_TRUE(run_path("launcher:opt/tools/door")["ok"].boolean());
    EXPECT_EQ(folder.read("asked"), "opt/tools/door");
}

TEST_F(LauncherTest, AbsolutePathIsKept) {
    settings(R"(command = ["nice"])");
    EXPECT_TRUE(run_path("launcher:" + folder.says("door", {kDone}))["ok"].boolean());
}

TEST_F(LauncherTest, PathThatLooksLikeAnOptionIsRefused) {
    settings("command = [\"./" + wrapper("wrap") + "\"]");
    const Json tool = run_path("launcher:-oProxyCommand=x");
    EXPECT_EQ(tool["errorCode"].string(), "SPAWN_FAILED");
    EXPECT_THAT(tool["error"].string(), HasSubstr("must not begin with a dash"));
    EXPECT_FALSE(folder.has("wrap.log"));
}

TEST_F(LauncherTest, NameSelectsItsCommand) {
    settings("command = [\"./" + wrapper("plain") + "\"]\ncommands.far = [\"./" + wrapper("far") +
             "\", \"nice\"]");
    folder.says("door", {kDone});
    EXPECT_TRUE(run_path("launcher:far:door")["ok"].boolean());
    EXPECT_THAT(lines_of(folder.read("far.log")), ElementsAre("nice", folder / "door"));
    EXPECT_FALSE(folder.has("plain.log"));
}

TEST_F(LauncherTest, FileNameWithAColonNeedsASlash) {
    settings("command = [\"./" + wrapper("wrap") + "\"]");
    folder.says("a:b", {kDone});
    EXPECT_TRUE(run_path("launcher:./a:b")["ok"].boolean());
    EXPECT_THAT(lines_of(folder.read("wrap.log")), ElementsAre(folder / "./a:b"));
}

TEST_F(LauncherTest, UnknownNameIsReported) {
    settings(R"(commands = { far = ["nice"], near = ["nice"] })");
    const Json tool = run_path("launcher:moon:door");
    EXPECT_EQ(tool["errorCode"].string(), "SPAWN_FAILED");
    EXPECT_THAT(tool["error"].string(), HasSubstr(R"(has no "moon" (it has: far, near))"));
    EXPECT_THAT(tool["error"].string(), HasSubstr(R"(commands.moon = ["ssh", "host"])"));
    EXPECT_EQ(tool["retryCount"].integer(), 0);
}

TEST_F(LauncherTest, PathIsRequired) {
    settings("command = [\"nice\"]\ncommands.far = [\"nice\"]");
    for (const std::string path : {"launcher:", "launcher:far:"}) {
        const Json tool = run_path(path);
        EXPECT_EQ(tool["errorCode"].string(), "SPAWN_FAILED") << path;
        EXPECT_THAT(tool["error"].string(), HasSubstr("does not name a tool")) << path;
    }
}

TEST_F(LauncherTest, NameDoesNotBypassTheAllowedPaths) {
    const Folder elsewhere;
    const std::string outside = elsewhere.says("outside", {kDone});
    settings("commands.far = [\"nice\"]", "[tools]\nallow_paths = [\".\"]");
    EXPECT_ANY_THROW(run_path("launcher:" + outside));
    EXPECT_ANY_THROW(run_path("launcher:far:" + outside));
}

TEST_F(LauncherTest, MissingSettingIsReportedWithAnExample) {
    settings("");
    const Json tool = run_path("launcher:door");
    EXPECT_EQ(tool["errorCode"].string(), "SPAWN_FAILED");
    EXPECT_THAT(tool["error"].string(), HasSubstr(R"(the setting "command" is missing)"));
    EXPECT_THAT(tool["error"].string(), HasSubstr(R"([plugins."narratoria.launcher"])"));
    EXPECT_THAT(tool["error"].string(), HasSubstr(R"(command = ["nice"])"));
}

TEST_F(LauncherTest, WrongSettingIsReportedWithAnExample) {
    settings("command = \"nice\"");
    const Json tool = run_path("launcher:door");
    EXPECT_EQ(tool["errorCode"].string(), "SPAWN_FAILED");
    EXPECT_THAT(tool["error"].string(), HasSubstr(R"("command" must be an array of strings)"));
    EXPECT_THAT(tool["error"].string(), HasSubstr(R"(command = ["nice"])"));
}

TEST_F(LauncherTest, UnknownSettingIsLogged) {
    settings("command = [\"nice\"]\ncomand = 1");
    EXPECT_THAT(
        log,
        HasSubstr(R"([plugins."narratoria.launcher"]: "comand" is unknown; did you mean "comman)"));
}

TEST_F(LauncherTest, MissingProgramIsASpawnFailure) {
    settings(R"(command = ["no-such-launcher"])");
    folder.says("door", {kDone});
    const Json tool = run_path("launcher:door");
    EXPECT_EQ(tool["errorCode"].string(), "SPAWN_FAILED");
    EXPECT_THAT(tool["error"].string(), HasSubstr("no-such-launcher"));
    EXPECT_EQ(tool["retryCount"].integer(), 0);
}

TEST_F(LauncherTest, MissingStoryProgramIsASpawnFailure) {
    settings(R"(command = ["./no-such-launcher"])");
    folder.says("door", {kDone});
    const Json tool = run_path("launcher:door");
    EXPECT_EQ(tool["errorCode"].string(), "SPAWN_FAILED");
    EXPECT_THAT(tool["error"].string(), HasSubstr(folder / "./no-such-launcher"));
    EXPECT_EQ(tool["retryCount"].integer(), 0);
}

TEST_F(LauncherTest, ExitStatusIsTheTools) {
    settings(R"(command = ["nice"])");
    folder.says("fails", {kDone}, 7);
    const Json tool = run_path("launcher:fails");
    EXPECT_EQ(tool["errorCode"].string(), "EXIT_STATUS");
    EXPECT_EQ(tool["attempts"][0]["exitStatus"].integer(), 7) << tool.text();
}

TEST_F(LauncherTest, TimeoutLeavesNoProcess) {
    settings("command = [\"./" + wrapper("wrap") + "\", \"env\"]", "[times]\ngrace_ms = 100");
    // Even on a slow machine, the tool writes its process ids before the timeout.
    const Json tool = run_path("launcher:" + endless(), R"("timeoutMs":1500)");
    EXPECT_EQ(tool["state"].string(), "timeout") << tool.text();
    ASSERT_TRUE(until([&] { return !engine->is_busy(); }));
    ASSERT_TRUE(is_running());
    EXPECT_TRUE(is_gone("self"));
    EXPECT_TRUE(is_gone("child"));
    hostile::expect_only_supervisors();
}

TEST_F(LauncherTest, CancelLeavesNoProcess) {
    settings(R"(command = ["nice", "env", "X=1"])");
    std::optional<Json> result;
    session->execute(plan_of({entry("t", "launcher:" + endless())}), folder.path(),
                     [&](Result ended) { result.emplace(ended.json().view()); });
    ASSERT_TRUE(until([&] { return is_running(); }));
    session->cancel();
    ASSERT_TRUE(until([&] { return result.has_value() && !engine->is_busy(); }));
    EXPECT_EQ(tool_of(*result, "t")["errorCode"].string(), "CANCELLED");
    EXPECT_TRUE(is_gone("self"));
    EXPECT_TRUE(is_gone("child"));
    hostile::expect_only_supervisors();
}

TEST_F(LauncherTest, EndOfTheSessionLeavesNoProcess) {
    settings(R"(command = ["nice"])");
    session->execute(plan_of({entry("t", "launcher:" + endless())}), folder.path());
    ASSERT_TRUE(until([&] { return is_running(); }));
    session.reset();
    ASSERT_TRUE(until([&] { return is_gone("self") && is_gone("child"); }));
}

}  // namespace
}  // namespace narratoria::test
