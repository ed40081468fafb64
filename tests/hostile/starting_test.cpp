// SPDX-License-Identifier: Apache-2.0
// Tools that cannot be started, with the reason.

#include <sys/stat.h>

#include <fstream>

#include "support/host.hpp"

namespace narratoria::hostile {
namespace {

struct Unstartable {
    const char* name;
    std::string path;
    std::string error;  // after the quoted path
};

class Starting : public HostileTest {};
class StartingFails : public HostileTest, public testing::WithParamInterface<Unstartable> {};

TEST_P(StartingFails, WithTheReasonAndWithoutARetry) {
    make_host();
    const Json result =
        host->run_tool(GetParam().path, "{}", R"(,"retryPolicy":{"maxRetries":2,"backoffMs":1})");
    EXPECT_EQ(result["/state"].string(), "failed");
    EXPECT_EQ(result["/errorCode"].string(), "SPAWN_FAILED");
    const std::string error = "\"" + GetParam().path + "\" " + GetParam().error;
    EXPECT_EQ(result["/error"].string(), error);
    EXPECT_EQ(result["/retryCount"].integer(), 0);
    ASSERT_EQ(result["/attempts"].size(), 1u);
    const Json attempt = result["/attempts/0"];
    EXPECT_EQ(attempt["/attempt"].integer(), 1);
    EXPECT_EQ(attempt["/code"].string(), "SPAWN_FAILED");
    EXPECT_EQ(attempt["/error"].string(), error);
    EXPECT_FALSE(attempt.has("/exitStatus"));
    EXPECT_FALSE(attempt.has("/signal"));
    EXPECT_EQ(result["/events"].text(), "[]");
    EXPECT_EQ(host->told(Kind::AttemptEnded).size(), 1u);
    // The supervisor is still usable.
    EXPECT_EQ(host->run_tool(tool_path("patcher"))["/state"].string(), "completed");
}

const Unstartable kUnstartables[] = {
    {"NotThere", "/nonexistent/tool", "does not exist"},
    {"NotExecutable", script_path("not-executable"),
     "may not be executed; is its executable bit set (chmod +x)?"},
    {"BrokenShebang", script_path("broken-shebang"),
     "names an interpreter that does not exist: #!/nonexistent/interpreter"},
    {"NoShebang", script_path("no-shebang"),
     "is not a program; a script needs a first line like #!/bin/sh"},
    {"AFolder", "/usr/bin", "is a folder, not a program"},
    {"FolderThatIsAFile", "/etc/passwd/tool", "cannot be started: Not a directory"},
    {"NameTooLong", "/" + std::string(300, 'n'), "cannot be started: File name too long"},
};
INSTANTIATE_TEST_SUITE_P(Each, StartingFails, testing::ValuesIn(kUnstartables),
                         [](const auto& each) { return each.param.name; });

TEST_F(Starting, FailsInARemovedFolder) {
    const TemporaryFolder root;
    EngineOptions options;
    options.root = root.path();
    make_host(std::move(options));
    ASSERT_EQ(::rmdir(root.path().c_str()), 0);
    const Json result = host->run_tool(tool_path("patcher"));
    EXPECT_EQ(result["/errorCode"].string(), "SPAWN_FAILED");
    EXPECT_EQ(result["/error"].string(), "its working folder \"" + root.path() +
                                             "\" cannot be entered: No such file or directory");
    ASSERT_EQ(::mkdir(root.path().c_str(), 0700), 0);
    EXPECT_EQ(host->run_tool(tool_path("patcher"))["/state"].string(), "completed");
}

TEST_F(Starting, FailsWithATooLargeEnvironment) {
    make_host();
    const Json result =
        host->run_tool(tool_path("patcher"), "{}",
                       R"(,"retryPolicy":{"maxRetries":1,"backoffMs":1},"environment":{"LARGE":")" +
                           std::string(200 * 1024, 'x') + "\"}");
    EXPECT_EQ(result["/errorCode"].string(), "SPAWN_FAILED");
    EXPECT_EQ(result["/error"].string(),
              "its arguments and environment are larger than 192 KiB in total");
    EXPECT_EQ(result["/retryCount"].integer(), 0);
}

// env looks for "sh\r", not the kernel.
TEST_F(Starting, ExplainsWindowsLineEnds) {
    make_host();
    const std::string path = folder.path() + "/windows";
    std::ofstream(path, std::ios::binary) << "#!/usr/bin/env sh\r\necho\r\n";
    ASSERT_EQ(::chmod(path.c_str(), 0700), 0);
    const Json result = host->run_tool(path);
    EXPECT_EQ(result["/errorCode"].string(), "EXIT_STATUS");
    EXPECT_THAT(result["/error"].string(),
                testing::StartsWith("the tool exited with status 127 and without a done event; its "
                                    "program has a carriage return"));
    ::unlink(path.c_str());
}

// The file may still be open for writing: ETXTBSY is temporary.
TEST_F(Starting, IsRetriedWhileTheFileIsBeingWritten) {
    make_host();
    const std::string path = folder.path() + "/late";
    std::ofstream file(path);
    file << "#!/bin/sh\necho '{\"version\":\"0\",\"type\":\"done\",\"ok\":true}'\n" << std::flush;
    ASSERT_EQ(::chmod(path.c_str(), 0700), 0);
    host->begin(plan_json(
        {tool_json("tool", path, "{}", R"(,"retryPolicy":{"maxRetries":10,"backoffMs":20})")}));
    ASSERT_TRUE(host->until([&] { return host->has(Kind::AttemptEnded, "tool"); }));
    file.close();
    const Json result = host->finish()["/toolResults/0"];
    EXPECT_EQ(result["/state"].string(), "completed") << result.text();
    EXPECT_EQ(result["/attempts/0/code"].string(), "SPAWN_FAILED");
    ::unlink(path.c_str());
}

// covers: 003-13.4.5-retry
TEST_F(Starting, IsRetriedAfterEachKindOfFailure) {
    make_host();
    struct Way {
        const char* how;
        const char* code;
    };
    for (const Way way :
         {Way{"done", "FLAKY"}, Way{"exit", "EXIT_STATUS"}, Way{"signal", "SIGNALED"},
          Way{"line", "PROTOCOL_ERROR"}, Way{"missing", "MISSING_DONE"}}) {
        const std::string counter = folder.path() + "/" + way.how;
        const Json result = host->run_tool(tool_path("flaky"),
                                           R"({"failures":2,"how":")" + std::string(way.how) +
                                               R"(","counter":)" + json_text(counter) + "}",
                                           R"(,"retryPolicy":{"maxRetries":2,"backoffMs":1})");
        EXPECT_EQ(result["/state"].string(), "completed") << way.how << result.text();
        ASSERT_EQ(result["/attempts"].size(), 3u) << way.how;
        EXPECT_EQ(result["/attempts/0/code"].string(), way.code);
        EXPECT_EQ(result["/attempts/1/code"].string(), way.code);
        EXPECT_EQ(result["/attempts/2/state"].string(), "completed");
        EXPECT_EQ(result["/retryCount"].integer(), 2);
        EXPECT_EQ(result["/output/flaky/attempt"].integer(), 3);
        ::unlink(counter.c_str());
    }
}

}  // namespace
}  // namespace narratoria::hostile
