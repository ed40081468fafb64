// SPDX-License-Identifier: Apache-2.0
#include "plan/event_log.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "conformance/folder.hpp"
#include "conformance/json.hpp"
#include "plan/result.hpp"
#include "support/variable.hpp"

namespace narratoria::plan {
namespace {

class CountingOutput : public Output {
public:
    bool write(std::string_view piece) override {
        if (refuse_after == 0) return false;
        --refuse_after;
        text.append(piece);
        return true;
    }
    bool write_file(int file, uint64_t offset, uint64_t size) override {
        if (refuse_after == 0) return false;
        --refuse_after;
        from_file += size;
        const size_t start = text.size();
        text.resize(start + size);
        return ::pread(file, text.data() + start, size, static_cast<off_t>(offset)) ==
               static_cast<ssize_t>(size);
    }
    std::string text;
    uint64_t from_file = 0;
    size_t refuse_after = SIZE_MAX;
};

// A line of about `size` bytes; `number` makes each line different.
std::string line(size_t number, size_t size) {
    std::string text = R"({"n":)" + std::to_string(number) + R"(,"x":")";
    text.append(size > text.size() + 2 ? size - text.size() - 2 : 0,
                static_cast<char>('a' + number % 26));
    return text + "\"}";
}

void add(EventLog& log, std::string& expected, const std::string& text) {
    log.add(text);
    expected += (expected.empty() ? "" : ",") + text;
}

std::string written(const EventLog& log) {
    CountingOutput output;
    EXPECT_TRUE(log.write(output));
    return output.text;
}

// Only events that are not in the file yet use memory.
TEST(EventLog, SpilledEventsUseNoMemory) {
    EventLog large(std::make_shared<EventSpool>());
    large.add(line(1, EventSpool::kInMemory + 1));
    EXPECT_LT(large.allocated(), 256u * 1024) << "one large event is spilled at once";
    for (size_t i = 0; i < 4000; ++i) large.add(line(i, 5000));
    EXPECT_LE(large.allocated(), 1024u * 1024) << "the file is in use, so no chunks remain";

    const auto spool = std::make_shared<EventSpool>();
    EventLog filling(spool), small(spool);
    std::string expected;
    while (!spool->over_limit()) filling.add(line(7, 1000));
    add(small, expected, line(2, 1000));
    add(small, expected, line(3, 1000));
    EXPECT_GT(small.allocated(), 2000u);
    small.settle();
    EXPECT_LT(small.allocated(), 100u) << "a small log, after its tool has ended";
    EXPECT_EQ(written(small), expected);
}

TEST(EventLog, KeepsEventsVerbatimSeparatedByCommas) {
    EventLog log(std::make_shared<EventSpool>());
    EXPECT_EQ(written(log), "");
    log.add(R"({ "a" : 1 })");
    EXPECT_EQ(written(log), R"({ "a" : 1 })");
    log.add("{}");
    log.add("{\"b\":\"\\u00e9 \xC3\xA9\"}");
    EXPECT_EQ(written(log), "{ \"a\" : 1 },{},{\"b\":\"\\u00e9 \xC3\xA9\"}");
    EXPECT_EQ(log.count(), 3u);
}

TEST(EventLog, EventsBelowTheLimitStayInMemory) {
    auto spool = std::make_shared<EventSpool>();
    EventLog log(spool);
    std::string expected;
    for (size_t i = 0; expected.size() < EventSpool::kInMemory - 100000; ++i) {
        add(log, expected, line(i, 300));
    }
    CountingOutput output;
    ASSERT_TRUE(log.write(output));
    EXPECT_EQ(output.text, expected);
    EXPECT_EQ(output.from_file, 0u);
    EXPECT_FALSE(spool->over_limit());
}

TEST(EventLog, EventsAboveTheLimitAreSpilledUnchanged) {
    auto spool = std::make_shared<EventSpool>();
    EventLog log(spool);
    std::string expected;
    for (size_t i = 0; expected.size() < 3 * EventSpool::kInMemory; ++i) {
        add(log, expected, line(i, 1 + (i * 7919) % 3000));
    }
    CountingOutput output;
    ASSERT_TRUE(log.write(output));
    EXPECT_EQ(output.text == expected, true);
    EXPECT_GT(output.from_file, 2 * EventSpool::kInMemory);
    EXPECT_LT(expected.size() - output.from_file, EventSpool::kInMemory + 200000)
        << "no more than the limit stays in memory";
    EXPECT_EQ(written(log) == expected, true) << "it can be written again";
}

TEST(EventLog, LineLargerThanTheLimitIsAccepted) {
    EventLog log(std::make_shared<EventSpool>());
    std::string expected;
    add(log, expected, line(1, 10));
    add(log, expected, line(2, EventSpool::kInMemory + 1000));
    add(log, expected, line(3, 10));
    EXPECT_EQ(written(log) == expected, true);
}

TEST(EventLog, InterleavedToolsShareAFileWithoutMixing) {
    auto spool = std::make_shared<EventSpool>();
    std::vector<EventLog> logs;
    std::vector<std::string> expected(5);
    for (size_t i = 0; i < expected.size(); ++i) logs.emplace_back(spool);
    for (size_t i = 0; spool->total() < 3 * EventSpool::kInMemory; ++i) {
        const size_t which = (i * 2654435761u >> 7) % expected.size();
        add(logs[which], expected[which], line(i, 50 + i % 2000));
    }
    // A log with few events stays in memory while the others spill.
    logs.emplace_back(spool);
    logs.back().add("{}");
    for (size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(written(logs[i]) == expected[i], true) << i;
    }
    EXPECT_EQ(written(logs.back()), "{}");
}

TEST(EventLog, SpoolFileHasNoName) {
    const test::Folder folder;
    const test::Variable setting("TMPDIR", folder.path());
    auto spool = std::make_shared<EventSpool>();
    EventLog log(spool);
    std::string expected;
    for (size_t i = 0; expected.size() < 2 * EventSpool::kInMemory; ++i)
        add(log, expected, line(i, 5000));
    CountingOutput output;
    ASSERT_TRUE(log.write(output));
    EXPECT_GT(output.from_file, 0u);
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(EventLog, EventsStayInMemoryIfNoFileCanBeCreated) {
    const test::Variable setting("TMPDIR", "/nonexistent/folder");
    EventLog log(std::make_shared<EventSpool>());
    std::string expected;
    for (size_t i = 0; expected.size() < 2 * EventSpool::kInMemory; ++i)
        add(log, expected, line(i, 3000));
    CountingOutput output;
    ASSERT_TRUE(log.write(output));
    EXPECT_EQ(output.text == expected, true);
    EXPECT_EQ(output.from_file, 0u);
}

TEST(EventLog, FailedFileIsNotRetried) {
    EventLog log(std::make_shared<EventSpool>());
    std::string expected;
    const auto fill_to = [&](size_t size) {
        for (size_t i = 0; expected.size() < size; ++i) add(log, expected, line(i, 3000));
    };
    {
        const test::Variable setting("TMPDIR", "/nonexistent/folder");
        fill_to(2 * EventSpool::kInMemory);
    }
    fill_to(4 * EventSpool::kInMemory);
    CountingOutput output;
    ASSERT_TRUE(log.write(output));
    EXPECT_EQ(output.text == expected, true);
    EXPECT_EQ(output.from_file, 0u);
}

TEST(EventLog, RefusingOutputEndsTheWriting) {
    for (const uint64_t size : {EventSpool::kInMemory / 2, 2 * EventSpool::kInMemory}) {
        EventLog log(std::make_shared<EventSpool>());
        std::string expected;
        for (size_t i = 0; expected.size() < size; ++i) add(log, expected, line(i, 3000));
        for (size_t pieces = 0; pieces < 2; ++pieces) {
            CountingOutput output;
            output.refuse_after = pieces;
            EXPECT_FALSE(log.write(output)) << pieces << " of " << size << " bytes";
        }
    }
}

// ---- the result that contains the events

Result result_of(std::vector<ToolResult> tools) {
    Result result;
    result.plan_id = "p\"1";
    result.tools = std::move(tools);
    return result;
}

TEST(Result, HasAllFieldsInOrder) {
    Result result = result_of({});
    result.narrative = "Ende\n";
    result.execution_ms = 12;
    result.success = true;
    CountingOutput output;
    ASSERT_TRUE(result.write(output, true));
    EXPECT_EQ(output.text,
              R"({"planId":"p\"1","success":true,"narrative":"Ende\n","executionTime":12,)"
              R"("toolResults":[],"failedTools":[],"generationAttempt":1,"canReplan":false,)"
              R"("disabledSkills":[],"stateConflicts":[]})");
}

TEST(Result, AttemptHasAnExitStatusOrASignalOrNeither) {
    auto spool = std::make_shared<EventSpool>();
    ToolResult tool(spool);
    tool.tool_id = "a";
    tool.state = State::Failed;
    tool.error = "e";
    tool.error_code = "SIGNALED";
    for (int i = 0; i < 3; ++i) {
        AttemptRecord record;
        record.attempt = static_cast<uint32_t>(i + 1);
        record.state = State::Failed;
        record.exit_status = i == 0 ? 0 : -1;
        record.signal = i == 1 ? 9 : 0;
        tool.attempts.push_back(record);
    }
    Result result = result_of({});
    result.tools.push_back(std::move(tool));
    CountingOutput output;
    ASSERT_TRUE(result.write(output, true));
    const test::Json attempts = test::Json(output.text)["toolResults"][0]["attempts"];
    EXPECT_EQ(attempts[0]["exitStatus"].integer(), 0);
    EXPECT_FALSE(attempts[0].has("signal"));
    EXPECT_EQ(attempts[1]["signal"].integer(), 9);
    EXPECT_FALSE(attempts[1].has("exitStatus"));
    EXPECT_FALSE(attempts[2].has("signal"));
    EXPECT_FALSE(attempts[2].has("exitStatus"));
    EXPECT_EQ(test::Json(output.text)["toolResults"][0]["retryCount"].integer(), 2);
}

TEST(Result, LargeResultIsWrittenInPieces) {
    auto spool = std::make_shared<EventSpool>();
    Result result = result_of({});
    for (int i = 0; i < 20000; ++i) {
        result.tools.emplace_back(spool);
        result.tools.back().tool_id = "tool-" + std::to_string(i);
        result.tools.back().state = State::Completed;
    }
    CountingOutput output;
    ASSERT_TRUE(result.write(output, true));
    EXPECT_LT(output.refuse_after, SIZE_MAX - 3) << "the result has more than one piece";
    EXPECT_EQ(test::Json(output.text)["toolResults"].size(), 20000u);
    CountingOutput refusing;
    refusing.refuse_after = 1;
    EXPECT_FALSE(result.write(refusing, true));
}

}  // namespace
}  // namespace narratoria::plan
