// SPDX-License-Identifier: Apache-2.0
#include "state/writers.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace narratoria::state {
namespace {

TEST(Writers, AreNumberedInOpeningOrderWithoutReuse) {
    Writers writers;
    const Writer first = writers.open(false);
    const Writer second = writers.open(false);
    EXPECT_GT(first, kHost);
    EXPECT_EQ(second, first + 1);
    writers.close(first);
    writers.close(second);
    EXPECT_FALSE(writers.any_open());
    EXPECT_EQ(writers.open(false), second + 1);
}

TEST(Writers, WriterIsAloneUntilAnotherOpens) {
    Writers writers;
    const Writer first = writers.open(false);
    EXPECT_TRUE(writers.is_alone(first));
    const Writer second = writers.open(false);
    EXPECT_FALSE(writers.is_alone(first));
    EXPECT_FALSE(writers.is_alone(second));
    writers.close(second);
    EXPECT_FALSE(writers.is_alone(first)) << "values of the second writer are still in the state";
    writers.close(first);
    EXPECT_TRUE(writers.is_alone(writers.open(false)));
}

TEST(Writers, HostOverlapsNoWriter) {
    Writers writers;
    EXPECT_FALSE(writers.overlap(kHost, writers.open(false)));
}

// Checked against the definition: two writers overlap if both were open at some moment.
TEST(Writers, RandomOrdersMatchTheDefinitionOfOverlap) {
    for (uint32_t seed = 0; seed < 200; ++seed) {
        std::mt19937 random(seed);
        Writers writers;
        struct Span {
            Writer writer;
            int opened, closed;
            bool exclusive;
        };
        std::vector<Span> spans;
        std::vector<size_t> open;
        for (int moment = 0; moment < 60; ++moment) {
            if (open.empty() || random() % 2 == 0) {
                const bool exclusive = random() % 2 == 0;
                open.push_back(spans.size());
                spans.push_back({writers.open(exclusive), moment, INT32_MAX, exclusive});
            } else {
                const size_t at = random() % open.size();
                Span& closing = spans[open[at]];
                open.erase(open.begin() + static_cast<std::ptrdiff_t>(at));
                closing.closed = moment;
                writers.close(closing.writer);
            }
            ASSERT_EQ(writers.any_open(), !open.empty());
            for (const size_t each : open) {
                const Span& span = spans[each];
                bool alone = true;
                for (const Span& other : spans) {
                    const bool overlap = other.writer != span.writer &&
                                         other.closed > span.opened && other.opened < span.closed;
                    alone = alone && !overlap;
                    ASSERT_EQ(writers.overlap(other.writer, span.writer), overlap)
                        << "seed " << seed << ", moment " << moment;
                    if (overlap) {
                        ASSERT_GE(other.writer, writers.oldest_peer(span.writer));
                    }
                }
                ASSERT_EQ(writers.is_alone(span.writer), alone) << "seed " << seed;
                ASSERT_EQ(writers.is_exclusive(span.writer), span.exclusive);
            }
        }
    }
}

}  // namespace
}  // namespace narratoria::state
