// SPDX-License-Identifier: Apache-2.0
#include "tool/runner/process_runner.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <csignal>
#include <functional>

#include "unit/tool/runner/heard.hpp"

namespace {

using namespace narratoria;
using testing::HasSubstr;
using testing::StartsWith;
using tool::Heard;
using tool::Outcome;
using tool::ProcessRunner;

using Clock = std::chrono::steady_clock;

class ProcessRunnerTest : public testing::Test {
protected:
    ProcessRunnerTest() { settings.folder = "/"; }

    // Starts a shell as the tool, with a script as the request on its standard input.
    std::unique_ptr<tool::Attempt> start(const std::string& script, Heard& heard) {
        runner = std::make_unique<ProcessRunner>(pool, settings);
        request_ = script;
        tool::Invocation invocation;
        invocation.definition = &definition;
        invocation.target = "/bin/sh";
        invocation.limits = limits;
        invocation.request = request_;
        invocation.environment = &environment;
        tool::StartFailure failure;
        auto attempt = runner->start(invocation, heard, failure);
        EXPECT_NE(attempt, nullptr) << failure.message;
        return attempt;
    }
    Heard run(const std::string& script) {
        Heard heard;
        const auto attempt = start(script, heard);
        EXPECT_TRUE(until([&] { return heard.ends > 0; }));
        EXPECT_EQ(heard.ends, 1);
        return heard;
    }
    bool until(const std::function<bool()>& condition) {
        const Clock::time_point deadline = Clock::now() + std::chrono::seconds(300);
        for (;;) {
            loop.run_for(0);
            if (condition()) return true;
            if (Clock::now() >= deadline) return false;
            pollfd ready{loop.descriptor(), POLLIN, 0};
            const int next = loop.timeout();
            ::poll(&ready, 1, next < 0 || next > 50 ? 50 : next);
        }
    }

    std::vector<std::string> environment{"PATH=/usr/bin:/bin"};
    Loop loop;
    process::Pool pool{loop, ""};
    tool::RunnerSettings settings;
    tool::Limits limits;
    const tool::Definition definition;
    std::unique_ptr<ProcessRunner> runner;

private:
    std::string request_;
};

constexpr const char* kLog =
    "echo '{\"version\":\"0\",\"type\":\"log\",\"level\":\"info\",\"message\":\"m\"}'\n";
constexpr const char* kDone = "echo '{\"version\":\"0\",\"type\":\"done\",\"ok\":true}'\n";

std::string done(const std::string& rest) {
    return "echo '{\"version\":\"0\",\"type\":\"done\"," + rest + "}'\n";
}

// The reason of a failure is the last error event, else the summary, else a default text.
TEST_F(ProcessRunnerTest, ReportsReasonOfFailedTool) {
    const std::string error =
        "echo '{\"version\":\"0\",\"type\":\"error\",\"errorCode\":\"WET\",\"errorMessage\":"
        "\"The torch is wet.\"}'\n";
    const Heard wet = run(error + done(R"("ok":false,"summary":"No light.")"));
    EXPECT_EQ(wet.outcome.error, "The torch is wet.");
    EXPECT_EQ(wet.outcome.code, "WET");
    EXPECT_EQ(run(done(R"("ok":false,"summary":"No light.")")).outcome.error, "No light.");
    const Heard silent = run(done(R"("ok":false)"));
    EXPECT_EQ(silent.outcome.error, "the tool reported ok: false");
    EXPECT_EQ(silent.outcome.code, "TOOL_FAILED");
    // An error event alone is not a failure.
    EXPECT_TRUE(run(error + kDone).outcome.ok);
}

// A broken last line is only reported if the exit itself is not a failure.
TEST_F(ProcessRunnerTest, ExitTakesPrecedenceOverHalfLine) {
    const std::string half = "printf '{\"version\":'\n";
    EXPECT_EQ(run(half + "kill -SEGV $$").outcome.code, "SIGNALED");
    EXPECT_EQ(run(half + "exit 3").outcome.code, "EXIT_STATUS");
    const Heard fine = run(half + "exit 0");
    EXPECT_EQ(fine.outcome.code, "PROTOCOL_ERROR");
    EXPECT_THAT(fine.outcome.error, StartsWith("line 1, byte 12: "));
    // With a newline it is a protocol error, and the tool is terminated.
    EXPECT_EQ(run("printf '{\"version\":\\n'\nsleep 60").outcome.code, "PROTOCOL_ERROR");
}

TEST_F(ProcessRunnerTest, SaysThatTextForPeopleBelongsToStandardError) {
    const Heard heard = run("echo; echo hello");
    EXPECT_EQ(heard.outcome.code, "PROTOCOL_ERROR");
    EXPECT_EQ(heard.outcome.error,
              "the tool wrote \"hello\" to standard output (line 2), where only events (JSON, one "
              "per line) belong; write messages to standard error");
}

TEST_F(ProcessRunnerTest, CountsLinesAfterDone) {
    const Heard heard = run(std::string(kDone) + kLog + "echo; echo no JSON\n" + kDone);
    EXPECT_EQ(heard.events.size(), 1u);
    EXPECT_TRUE(heard.outcome.ok);
    EXPECT_EQ(heard.outcome.lines_after_done, 3u);  // blank lines do not count
}

// Without a grace period the default linger time applies, so the tool has time to exit.
TEST_F(ProcessRunnerTest, WaitsForExitAfterDoneWithoutGracePeriod) {
    settings.grace_ms = 0;
    const Heard heard = run(std::string(kDone) + "sleep 0.3; exit 4");
    EXPECT_EQ(heard.outcome.code, "EXIT_STATUS");
}

TEST_F(ProcessRunnerTest, AppliesLimitsOfInvocation) {
    const std::string write =
        "f=$(mktemp); head -c 8192 /dev/zero > $f; rm $f\n" + std::string(kDone);
    EXPECT_TRUE(run(write).outcome.ok);
    limits.file_bytes = 4096;
    EXPECT_EQ(run("f=$(mktemp); exec 3> $f; rm $f; exec head -c 8192 /dev/zero >&3").outcome.code,
              "FILE_SIZE_LIMIT");
    limits = {};
    EXPECT_TRUE(run(kLog + std::string(kDone)).outcome.ok);
    limits.line_bytes = 20;
    EXPECT_THAT(run(kLog + std::string(kDone)).outcome.error, HasSubstr("limit of 20 bytes"));
}

TEST_F(ProcessRunnerTest, ListenerMayDestroyAttemptInAnyCall) {
    const std::string many = "for i in 1 2 3 4 5 6 7 8 9; do\n" + std::string(kLog) + "done\n";
    Heard in_event;
    std::unique_ptr<tool::Attempt> attempt;
    in_event.on_one = [&] { attempt.reset(); };
    attempt = start(many + kDone, in_event);
    ASSERT_TRUE(until([&] { return pool.busy() == 0; }));
    EXPECT_EQ(in_event.events.size(), 1u);
    EXPECT_EQ(in_event.ends, 0);

    // In the event of the last line, which has no newline and is therefore read in on_exit().
    Heard in_the_last;
    in_the_last.on_one = [&] { attempt.reset(); };
    attempt = start("printf '{\"version\":\"0\",\"type\":\"done\",\"ok\":true}'", in_the_last);
    ASSERT_TRUE(until([&] { return pool.busy() == 0 && !in_the_last.events.empty(); }));
    EXPECT_EQ(in_the_last.ends, 0);

    Heard at_the_end;
    at_the_end.on_end = [&] { attempt.reset(); };
    attempt = start(many + kDone, at_the_end);
    ASSERT_TRUE(until([&] { return at_the_end.ends > 0; }));
    EXPECT_TRUE(at_the_end.outcome.ok);
    EXPECT_EQ(at_the_end.events.size(), 10u);
}

// The tail must not begin in the middle of a character.
TEST_F(ProcessRunnerTest, CutsDiagnosticsBetweenCharacters) {
    const Heard heard =
        run("i=0; while [ $i -lt 700 ]; do printf "
            "'\\342\\202\\254\\342\\202\\254\\342\\202\\254\\342\\202\\254\\342\\202\\254%090d' 1 "
            ">&2; i=$((i+1)); done; printf z >&2\n" +
            std::string(kDone));
    const std::string& kept = heard.outcome.diagnostics;
    EXPECT_LE(kept.size(), 65536u);
    EXPECT_GE(kept.size(), 65533u);
    EXPECT_THAT(kept, testing::Not(HasSubstr("\xEF\xBF\xBD")));
    EXPECT_EQ(kept.back(), 'z');
}

}  // namespace
