// SPDX-License-Identifier: Apache-2.0
#include "plan/quick_calls.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "conformance/folder.hpp"

namespace narratoria::plan {
namespace {

QuickCalls::Call call_of(uint32_t number, std::string_view result) {
    QuickCalls::Call call{};
    call.started_us = int64_t{number} << 33;
    call.before = number / 7;
    call.number = number;
    call.line = number + 1;
    call.execution_ms = number % 3;
    call.name = number % 2;
    call.result_size = static_cast<uint32_t>(result.size());
    return call;
}

// A result whose length grows and shrinks with `number` and is sometimes 0.
std::string result_of(uint32_t number, size_t longest) {
    return std::string(number * 31 % longest, static_cast<char>('a' + number % 26));
}

void fill(QuickCalls& calls, uint32_t count, size_t longest) {
    for (uint32_t i = 0; i < count; ++i) {
        const std::string result = result_of(i, longest);
        calls.add(call_of(i, result), result);
    }
}

// The number of calls read before the first that differs from the expected one.
uint32_t read(const QuickCalls& calls, size_t longest) {
    QuickCalls::Reader reader(calls);
    QuickCalls::Call call;
    std::string_view result;
    uint32_t count = 0;
    while (reader.next(call, result)) {
        const std::string expected = result_of(count, longest);
        const QuickCalls::Call wanted = call_of(count, expected);
        if (result != expected || std::memcmp(&call, &wanted, sizeof call) != 0) break;
        ++count;
    }
    EXPECT_FALSE(reader.has_failed());
    return count;
}

TEST(QuickCalls, AreReadInTheOrderAdded) {
    QuickCalls none;
    EXPECT_EQ(read(none, 100), 0u);
    EXPECT_EQ(none.event_bytes(), 0u);
    QuickCalls some;
    fill(some, 10'000, 100);
    EXPECT_EQ(read(some, 100), 10'000u);
    EXPECT_EQ(read(some, 100), 10'000u);
    QuickCalls long_ones;
    fill(long_ones, 40, 150'000);
    EXPECT_EQ(read(long_ones, 150'000), 40u);
}

TEST(QuickCalls, EachSkillHasOneNumber) {
    QuickCalls calls;
    EXPECT_EQ(calls.number_of("a"), 0u);
    EXPECT_EQ(calls.number_of("b"), 1u);
    EXPECT_EQ(calls.number_of("a"), 0u);
    EXPECT_EQ(calls.skill(1), "b");
}

TEST(QuickCalls, MillionCallsAreStoredInAFile) {
    QuickCalls calls;
    fill(calls, 1'000'000, 20);
    EXPECT_LE(calls.memory(), EventSpool::kInMemory + 256 * 1024);
    EXPECT_EQ(read(calls, 20), 1'000'000u);
}

TEST(QuickCalls, StayInMemoryIfTheFileCannotBeWritten) {
    const test::Folder folder;
    const std::string before = std::getenv("TMPDIR") ? std::getenv("TMPDIR") : "";
    ::setenv("TMPDIR", (folder.path() + "/missing").c_str(), 1);
    QuickCalls calls;
    fill(calls, 400'000, 20);
    if (before.empty()) ::unsetenv("TMPDIR");
    else ::setenv("TMPDIR", before.c_str(), 1);
    EXPECT_GT(calls.memory(), EventSpool::kInMemory);
    EXPECT_EQ(read(calls, 20), 400'000u);
}

}  // namespace
}  // namespace narratoria::plan
