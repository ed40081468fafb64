// SPDX-License-Identifier: Apache-2.0
#include "tool/runner/stream_attempt.hpp"

#include <gtest/gtest.h>

#include <csignal>

#include "unit/tool/runner/heard.hpp"

namespace {

using namespace narratoria;
using process::Exit;
using tool::Heard;
using tool::Outcome;

class Nothing : public tool::Source {
public:
    void terminate(uint32_t) override { terminated = true; }
    void stop_reading() override {}
    bool terminated = false;
};

// Determines the outcome of a tool in a control group.
class StreamAttemptTest : public testing::Test {
protected:
    StreamAttemptTest() {
        limits.processes = 20;
        limits.resident_bytes = 64u << 20;
        exit.started = true;
    }

    Outcome end(std::string printed = "", bool is_told_to = false) {
        Heard heard;
        tool::StreamAttempt attempt(loop, settings, limits, heard);
        attempt.set_source(std::make_unique<Nothing>());
        if (!printed.empty()) {
            const size_t size = printed.size();
            printed.append(json::kPadding, '\0');
            attempt.on_output(printed.data(), size);
        }
        if (is_told_to) attempt.terminate();
        attempt.on_exit(exit);
        return heard.outcome;
    }

    static constexpr const char* kDone = "{\"version\":\"0\",\"type\":\"done\",\"ok\":true}\n";
    static constexpr const char* kRefusal =
        "{\"version\":\"0\",\"type\":\"done\",\"ok\":false,\"summary\":\"No.\"}\n";
    static constexpr int kExitedWith2 = 2 << 8;

    Loop loop;
    tool::RunnerSettings settings;
    tool::Limits limits;
    Exit exit;
};

TEST_F(StreamAttemptTest, ReportsProcessLimitOfToolWithoutOwnError) {
    exit.refused_processes = 3;
    Outcome outcome = end();
    EXPECT_EQ(outcome.code, "PROCESS_LIMIT");
    EXPECT_EQ(outcome.error,
              "the tool reached its limit of 20 processes (processes) 3 times; the tool exited "
              "without a done event");
    exit.wait_status = kExitedWith2;
    outcome = end();
    EXPECT_EQ(outcome.code, "PROCESS_LIMIT");
    EXPECT_EQ(
        outcome.error,
        "the tool reached its limit of 20 processes (processes) 3 times; the tool exited with "
        "status 2 and without a done event");
    exit.wait_status = SIGSEGV;
    EXPECT_EQ(end().code, "PROCESS_LIMIT");
    EXPECT_EQ(outcome.limit, "the tool reached its limit of 20 processes (processes) 3 times");
}

TEST_F(StreamAttemptTest, DoneTakesPrecedenceOverProcessLimit) {
    exit.refused_processes = 1;
    const Outcome failed = end(kRefusal);
    EXPECT_EQ(failed.code, "TOOL_FAILED");
    EXPECT_EQ(failed.error, "No. (the tool reached its limit of 20 processes (processes) 1 time)");
    const Outcome fine = end(kDone);
    EXPECT_TRUE(fine.ok);
    EXPECT_EQ(fine.warning_code, "PROCESS_LIMIT");
    EXPECT_EQ(fine.warning, "the tool reached its limit of 20 processes (processes) 1 time");
}

TEST_F(StreamAttemptTest, DistinguishesOwnLimitFromLimitAbove) {
    exit.refused_processes = 2;
    limits.processes = UINT64_MAX;
    EXPECT_EQ(
        end().error,
        "the tool could not create a process 2 times, because pids.max of a cgroup above its own "
        "was reached; the tool exited without a done event");
    exit.refused_processes = 0;
    exit.wait_status = SIGKILL;
    exit.memory_kills = 1;
    const Outcome outcome = end();
    EXPECT_EQ(outcome.code, "OUT_OF_MEMORY");
    EXPECT_EQ(outcome.error,
              "the kernel killed the tool because memory ran out on the machine or in a cgroup "
              "above its own");
}

TEST_F(StreamAttemptTest, ReportsMemoryLimit) {
    exit.wait_status = SIGKILL;
    exit.memory_limit_hits = 1;
    exit.memory_kills = 4;
    for (const char* printed : {"", kDone, "{\"version\":\"0\",\"type\":\"lo"}) {
        const Outcome outcome = end(printed);
        EXPECT_FALSE(outcome.ok);
        EXPECT_EQ(outcome.code, "MEMORY_LIMIT") << printed;
        EXPECT_EQ(outcome.error,
                  "the tool used more memory than its limit of 67108864 bytes (resident_bytes) and "
                  "was terminated");
        EXPECT_EQ(outcome.signal, SIGKILL);
    }
}

TEST_F(StreamAttemptTest, IgnoresExitStatusOfTerminatedLingeringTool) {
    settings.grace_ms = 1;
    exit.wait_status = 3 << 8;
    Heard heard;
    tool::StreamAttempt attempt(loop, settings, limits, heard);
    auto source = std::make_unique<Nothing>();
    const Nothing& its = *source;
    attempt.set_source(std::move(source));
    std::string printed = kDone;
    const size_t size = printed.size();
    printed.append(json::kPadding, '\0');
    attempt.on_output(printed.data(), size);
    while (!its.terminated) loop.run_once();
    attempt.on_exit(exit);
    EXPECT_TRUE(heard.outcome.ok);
    EXPECT_EQ(heard.outcome.exit_status, 3);
    EXPECT_EQ(heard.outcome.warning_code, "LINGERED");
    EXPECT_EQ(
        heard.outcome.warning,
        "the tool was still running 1 ms after its done event and was terminated; its exit status "
        "3 is ignored");
}

TEST_F(StreamAttemptTest, DoneCanForbidRetry) {
    EXPECT_TRUE(end(kRefusal).may_retry);
    for (const char* value : {"true", "null", "0", "\"no\""}) {
        const std::string done = R"({"version":"0","type":"done","ok":false,"retry":)";
        EXPECT_TRUE(end(done + value + "}\n").may_retry) << value;
    }
    const std::string never =
        "{\"version\":\"0\",\"type\":\"done\",\"ok\":false,\"retry\":false}\n";
    EXPECT_FALSE(end(never).may_retry);
    EXPECT_EQ(end(never).code, "TOOL_FAILED");
    exit.wait_status = kExitedWith2;
    EXPECT_FALSE(end(never).may_retry) << "regardless of the exit";
}

TEST_F(StreamAttemptTest, DoneDecidesOutcomeOfRunningTool) {
    Heard heard;
    tool::StreamAttempt attempt(loop, settings, limits, heard);
    attempt.set_source(std::make_unique<Nothing>());
    std::string printed =
        "{\"version\":\"0\",\"type\":\"done\",\"ok\":false,\"summary\":\"No.\",\"result\":[1]}\n";
    const size_t size = printed.size();
    printed.append(json::kPadding, '\0');
    attempt.on_output(printed.data(), size);
    const Outcome outcome = attempt.outcome_of_done();
    EXPECT_FALSE(outcome.ok);
    EXPECT_EQ(outcome.code, "TOOL_FAILED");
    EXPECT_EQ(outcome.error, "No.");
    EXPECT_EQ(outcome.result, "[1]");
}

// The counters of the group also change when no process was killed, or one other than the tool.
TEST_F(StreamAttemptTest, BlamesOnlyLimitThatEndedTool) {
    exit.memory_limit_hits = 5;
    EXPECT_TRUE(end(kDone).ok);
    exit.memory_kills = 1;
    EXPECT_TRUE(end(kDone).ok);
    exit.wait_status = kExitedWith2;
    EXPECT_EQ(end().code, "EXIT_STATUS");
    exit.wait_status = SIGSEGV;
    EXPECT_EQ(end().code, "SIGNALED");
    exit.memory_kills = 0;
    exit.wait_status = SIGKILL;
    EXPECT_EQ(end().code, "SIGNALED");
    EXPECT_EQ(end("", true).code, "SIGNALED");
    EXPECT_EQ(end().limit, "");
}

}  // namespace
