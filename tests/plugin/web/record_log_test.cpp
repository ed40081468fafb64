// SPDX-License-Identifier: Apache-2.0
#include "web/record_log.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "support/variable.hpp"

namespace narratoria::web {
namespace {

class RecordLogTest : public testing::Test {
protected:
    void append(std::uint64_t number, const std::string& text) {
        log.append(number, [&](std::string& out) { out += text + "\n"; });
        written += "data: " + text + "\n";
    }
    std::string read(std::uint64_t begin, std::uint64_t end, std::size_t at_once = 1000) const {
        std::string text;
        std::vector<char> piece(at_once);
        while (begin + text.size() < end) {
            const ssize_t got = log.read(begin + text.size(), piece.data(),
                                         std::min<std::size_t>(at_once, end - begin - text.size()));
            if (got <= 0) return text + "(the end)";
            text.append(piece.data(), static_cast<std::size_t>(got));
        }
        return text;
    }

    std::vector<std::string> warnings;
    RecordLog log{4096, [this](const std::string& what) { warnings.push_back(what); }};
    std::string written;
};

TEST_F(RecordLogTest, EmptyLogHasNoBatch) {
    EXPECT_EQ(log.last(), 0u);
    EXPECT_FALSE(log.batch_after(0, 100));
    EXPECT_FALSE(log.batch_after(7, 100));
}

TEST_F(RecordLogTest, BatchHasAsManyWholeRecordsAsFit) {
    for (std::uint64_t number = 1; number <= 10; ++number) append(number, "1234");  // 11 bytes each
    const auto batch = log.batch_after(0, 35);
    ASSERT_TRUE(batch);
    EXPECT_EQ(batch->begin, 0u);
    EXPECT_EQ(batch->end, 33u);
    EXPECT_EQ(batch->last, 3u);
    const auto next = log.batch_after(batch->last, 33);
    ASSERT_TRUE(next);
    EXPECT_EQ(next->begin, 33u);
    EXPECT_EQ(next->last, 6u);
    EXPECT_FALSE(log.batch_after(10, 1000));
    EXPECT_FALSE(log.batch_after(11, 1000));
}

TEST_F(RecordLogTest, OversizedRecordIsItsOwnBatch) {
    append(1, "1");
    append(2, std::string(500, '2'));
    append(3, "3");
    EXPECT_EQ(log.batch_after(0, 100)->last, 1u);
    EXPECT_EQ(log.batch_after(1, 100)->last, 2u);
    EXPECT_EQ(log.batch_after(2, 100)->last, 3u);
}

TEST_F(RecordLogTest, OlderRecordsAreReadFromTheFile) {
    for (std::uint64_t number = 1; number <= 2000; ++number) append(number, std::to_string(number));
    EXPECT_LE(log.in_memory(), 4096u);
    for (const std::size_t at_once : {1u, 7u, 4096u, 100'000u}) {
        EXPECT_EQ(read(0, written.size(), at_once), written);
    }
    EXPECT_TRUE(warnings.empty());
}

TEST_F(RecordLogTest, NumbersMayHaveGapsButMustIncrease) {
    append(50, "a");
    append(60, "b");
    const std::string before = written;
    append(60, "again");
    append(3, "late");
    EXPECT_EQ(log.last(), 60u);
    const auto batch = log.batch_after(0, 1000);
    EXPECT_EQ(read(batch->begin, batch->end), before);
    EXPECT_EQ(log.batch_after(55, 1000)->begin, before.size() / 2);
}

TEST_F(RecordLogTest, FailedRecordLeavesNothing) {
    append(1, "a");
    EXPECT_THROW(log.append(2,
                            [](std::string& out) {
                                out += "half";
                                throw std::runtime_error("no");
                            }),
                 std::runtime_error);
    append(2, "b");
    EXPECT_EQ(read(0, written.size()), written);
}

TEST_F(RecordLogTest, WithoutAFileRecordsStayInMemory) {
    const narratoria::test::Variable temporary("TMPDIR", "/proc/nowhere");
    for (std::uint64_t number = 1; number <= 3000; ++number) append(number, std::to_string(number));
    EXPECT_EQ(read(0, written.size()), written);
    EXPECT_THAT(warnings, testing::ElementsAre(testing::HasSubstr("stay in memory")));
}

TEST_F(RecordLogTest, FileSizeLimitKeepsRecordsInMemoryWithoutASignal) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    rlimit small = before;
    small.rlim_cur = 10'000;
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    for (std::uint64_t number = 1; number <= 3000; ++number) append(number, std::to_string(number));
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_EQ(read(0, written.size()), written);
    EXPECT_THAT(warnings, testing::ElementsAre(testing::HasSubstr("stay in memory")));
}

}  // namespace
}  // namespace narratoria::web
