// SPDX-License-Identifier: Apache-2.0
#include "plan/ended_tools.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "conformance/folder.hpp"
#include "plan/result.hpp"
#include "support/variable.hpp"
#include "unit/plan/text_output.hpp"

namespace narratoria::plan {
namespace {

// A text of a length that grows and shrinks with `number` and is sometimes 0.
std::string text_of(uint32_t number, size_t longest) {
    return std::string(number * 31 % longest, static_cast<char>('a' + number % 26));
}

ToolResult tool_of(uint32_t number, size_t longest) {
    ToolResult tool(std::make_shared<EventSpool>());
    tool.tool_id = "t-" + std::to_string(number);
    tool.state = number % 3 == 0 ? State::Failed : State::Completed;
    tool.result = text_of(number, longest);
    tool.line = number;
    for (uint32_t i = 0; i < number % 3; ++i) {
        AttemptRecord& attempt = tool.attempts.emplace_back();
        attempt.attempt = i + 1;
        attempt.started_us = int64_t{number} << 33;
    }
    return tool;
}

void fill(EndedTools& tools, uint32_t count, size_t longest) {
    for (uint32_t i = 0; i < count; ++i) tools.add(tool_of(i, longest), "", i / 7);
}

// The number of results read before the first that differs from the expected one.
uint32_t read(const EndedTools& tools, size_t longest) {
    EndedTools::Reader reader(tools);
    ToolResult tool(nullptr);
    uint32_t before = 0;
    uint32_t count = 0;
    while (reader.next(tool, before)) {
        const ToolResult expected = tool_of(count, longest);
        const bool is_equal = tool.tool_id == expected.tool_id && tool.state == expected.state &&
                              tool.result == expected.result && tool.line == expected.line &&
                              tool.attempts.size() == expected.attempts.size() &&
                              before == count / 7;
        if (!is_equal) break;
        ++count;
    }
    EXPECT_FALSE(reader.has_failed());
    return count;
}

TEST(EndedTools, AreReadInTheOrderAdded) {
    EndedTools none;
    EXPECT_EQ(read(none, 100), 0u);
    EXPECT_EQ(none.event_bytes(), 0u);
    EndedTools some;
    fill(some, 10'000, 100);
    EXPECT_EQ(read(some, 100), 10'000u);
    EXPECT_EQ(read(some, 100), 10'000u);
    EndedTools long_ones;
    fill(long_ones, 40, 150'000);
    EXPECT_EQ(read(long_ones, 150'000), 40u);
}

TEST(EndedTools, ResultIsWrittenAsIfItHadNotBeenStored) {
    auto spool = std::make_shared<EventSpool>();
    ToolResult tool(spool);
    tool.tool_id = "t";
    tool.state = State::Timeout;
    tool.output = R"({"a":1})";
    tool.result = "[2]";
    tool.error = "too slow";
    tool.error_code = "TIMEOUT";
    tool.diagnostics = "a line";
    tool.execution_ms = 7;
    tool.line = 3;
    tool.events.add(R"({"e":1})");
    tool.events.add(R"({"e":2})");
    for (uint32_t i = 1; i <= 2; ++i) {
        AttemptRecord& attempt = tool.attempts.emplace_back();
        attempt.attempt = i;
        attempt.state = State::Timeout;
        attempt.code = "TIMEOUT";
        attempt.error = "too slow";
        attempt.signal = static_cast<int>(i) - 1;
        attempt.exit_status = 4;
        attempt.started_us = 5'000'000;
        attempt.execution_ms = 6;
        attempt.first_event = i - 1;
        attempt.event_count = 1;
        attempt.lines_after_done = i;
        attempt.user_us = 8;
        attempt.system_us = 9;
        attempt.resident_kb = 10;
        attempt.guarantees = R"([{"g":1}])";
        attempt.traces = {R"({"x":1})", R"({"x":2})"};
    }
    Result stored;
    ToolResult copy = tool;
    stored.add_ended(std::move(copy));
    EXPECT_TRUE(stored.tools.empty());
    EXPECT_EQ(stored.event_bytes(), 15u);
    Result whole;
    whole.tools.push_back(std::move(tool));
    for (const bool with_events : {true, false}) {
        TextOutput from_store, direct;
        ASSERT_TRUE(stored.write(from_store, with_events));
        ASSERT_TRUE(whole.write(direct, with_events));
        EXPECT_EQ(from_store.text, direct.text);
    }
}

TEST(EndedTools, ToolWithManyEventsKeepsItsPlace) {
    Result result;
    const auto add = [&](const char* name, size_t events) {
        ToolResult tool(std::make_shared<EventSpool>());
        tool.tool_id = name;
        for (size_t i = 0; i < events; ++i) tool.events.add(R"({"n":"0123456789"})");
        result.add_ended(std::move(tool));
    };
    add("a", 1);
    add("many", 10'000);
    add("b", 1);
    EXPECT_EQ(result.tools.size(), 1u);
    TextOutput output;
    ASSERT_TRUE(result.write(output, false));
    const size_t a = output.text.find(R"("toolId":"a")");
    const size_t many = output.text.find(R"("toolId":"many")");
    const size_t b = output.text.find(R"("toolId":"b")");
    EXPECT_LT(a, many);
    EXPECT_LT(many, b);
    EXPECT_NE(b, std::string::npos);
}

TEST(EndedTools, ManyToolsAreStoredInAFile) {
    EndedTools tools;
    fill(tools, 300'000, 100);
    EXPECT_LE(tools.memory(), EventSpool::kInMemory + 256 * 1024);
    EXPECT_EQ(read(tools, 100), 300'000u);
}

TEST(EndedTools, StayInMemoryIfTheFileCannotBeWritten) {
    const test::Folder folder;
    const test::Variable temporary("TMPDIR", folder / "missing");
    EndedTools tools;
    fill(tools, 150'000, 100);
    EXPECT_GT(tools.memory(), EventSpool::kInMemory);
    EXPECT_EQ(read(tools, 100), 150'000u);
}

}  // namespace
}  // namespace narratoria::plan
