// SPDX-License-Identifier: Apache-2.0
#include "event/line_framer.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace {

using namespace narratoria;
using event::Line;
using event::LineFramer;
using namespace std::string_literals;

struct Framed {
    std::vector<std::tuple<std::string, uint64_t, uint64_t>> lines;  // text, number, offset
    bool over_limit = false;
    uint64_t over_limit_line = 0;

    bool operator==(const Framed& other) const {
        return lines == other.lines && over_limit == other.over_limit &&
               over_limit_line == other.over_limit_line;
    }
};

std::ostream& operator<<(std::ostream& out, const Framed& framed) {
    for (const auto& [text, number, offset] : framed.lines) {
        out << number << "@" << offset << ":" << testing::PrintToString(text) << " ";
    }
    if (framed.over_limit) out << "over the limit in line " << framed.over_limit_line;
    return out;
}

// Feeds the chunks in order, each from its own memory block that ends with the padding.
Framed frame(const std::vector<std::string>& chunks, uint64_t limit) {
    LineFramer framer(limit);
    Framed framed;
    auto take = [&](const Line& line) {
        EXPECT_EQ(line.text.data()[line.text.size()], '\0') << "a zero byte follows each line";
        framed.lines.emplace_back(line.text, line.number, line.offset);
        return true;
    };
    for (const std::string& chunk : chunks) {
        std::vector<char> memory(chunk.begin(), chunk.end());
        memory.resize(chunk.size() + json::kPadding, 'x');
        if (framer.feed(memory.data(), chunk.size(), take)) continue;
        EXPECT_TRUE(framer.over_limit());
        framed.over_limit = true;
        framed.over_limit_line = framer.line_number();
        return framed;
    }
    EXPECT_TRUE(framer.finish(take));
    return framed;
}

std::vector<std::string> texts(const Framed& framed) {
    std::vector<std::string> texts;
    for (const auto& line : framed.lines) texts.push_back(std::get<0>(line));
    return texts;
}

constexpr uint64_t kNoLimit = UINT64_MAX / 2;

// covers: 000-2.3-newline
TEST(LineFramer, SplitsAtNewlinesAndAcceptsAnUnterminatedLine) {
    const Framed framed = frame({"one\ntwo\n\nfour"}, kNoLimit);
    const Framed expected = {{{"one", 1, 0}, {"two", 2, 4}, {"", 3, 8}, {"four", 4, 9}}, false, 0};
    EXPECT_EQ(framed, expected);
    EXPECT_TRUE(frame({}, kNoLimit).lines.empty());
    EXPECT_TRUE(frame({""}, kNoLimit).lines.empty());
    EXPECT_EQ(texts(frame({"\n"}, kNoLimit)), std::vector<std::string>{""});
}

// covers: 000-2.3-newline
TEST(LineFramer, RemovesCarriageReturnsBeforeNewlines) {
    const Framed framed = frame({"one\r\n\r\nth\rree\nfour\r"}, kNoLimit);
    const Framed expected = {
        {{"one", 1, 0}, {"", 2, 5}, {"th\rree", 3, 7}, {"four", 4, 14}}, false, 0};
    EXPECT_EQ(framed, expected);
    EXPECT_EQ(texts(frame({"a\r\r\n"}, kNoLimit)), std::vector<std::string>{"a\r"})
        << "only a CR directly before the newline is removed";
}

TEST(LineFramer, KeepsInvalidUtf8) {
    const std::string bytes = "a\0b\xFF\x01"s;
    EXPECT_EQ(texts(frame({bytes + "\n" + bytes}, kNoLimit)),
              (std::vector<std::string>{bytes, bytes}));
}

TEST(LineFramer, DeliversWholeLinesWithoutCopying) {
    std::string buffer = "one\ntwo\n";
    buffer.append(json::kPadding, '\0');
    LineFramer framer(100);
    std::vector<const char*> places;
    framer.feed(buffer.data(), 8, [&](const Line& line) {
        places.push_back(line.text.data());
        return true;
    });
    EXPECT_EQ(places, (std::vector<const char*>{buffer.data(), buffer.data() + 4}));
}

TEST(LineFramer, StopsWhenTheCallbackSaysSo) {
    std::string buffer = "one\ntwo\nthree\n";
    buffer.append(json::kPadding, '\0');
    LineFramer framer(100);
    int taken = 0;
    EXPECT_FALSE(framer.feed(buffer.data(), 14, [&](const Line&) { return ++taken < 2; }));
    EXPECT_EQ(taken, 2);
    EXPECT_FALSE(framer.over_limit());
    EXPECT_EQ(framer.line_number(), 2u);
}

TEST(LineFramer, AcceptsALineAtTheLimitAndRefusesOneByteMore) {
    const std::string at_limit(10, 'x');
    for (const std::string& end : {"\n"s, "\r\n"s, ""s, "\r"s}) {
        EXPECT_EQ(texts(frame({at_limit + end}, 10)), std::vector<std::string>{at_limit});
        const Framed over = frame({"ok\n" + at_limit + "y" + end}, 10);
        EXPECT_TRUE(over.over_limit) << testing::PrintToString(end);
        EXPECT_EQ(over.over_limit_line, 2u);
        EXPECT_EQ(texts(over), std::vector<std::string>{"ok"});
    }
    // A carriage return that does not end a line counts toward the limit.
    EXPECT_TRUE(frame({at_limit + "\rx\n"}, 10).over_limit);
    EXPECT_TRUE(frame({at_limit + "\r\r\n"}, 10).over_limit);
    EXPECT_TRUE(frame({at_limit + "\r\r"}, 10).over_limit);
}

// covers: 000-2.3-newline
TEST(LineFramer, CarriageReturnSplitFromItsNewlineIsNotCounted) {
    const std::string at_limit(10, 'x');
    EXPECT_EQ(texts(frame({at_limit + "\r", "\nnext\n"}, 10)),
              (std::vector<std::string>{at_limit, "next"}));
    EXPECT_EQ(texts(frame({at_limit, "\r", "\n"}, 10)), std::vector<std::string>{at_limit});
    EXPECT_TRUE(frame({at_limit + "\r", "x\n"}, 10).over_limit);
    EXPECT_TRUE(frame({at_limit + "\r", "\r\n"}, 10).over_limit);
}

TEST(LineFramer, BuffersAtMostTheLimitOfAnEndlessLine) {
    LineFramer framer(1000);
    std::vector<char> chunk(600 + json::kPadding, 'x');
    auto take = [](const Line&) { return true; };
    EXPECT_TRUE(framer.feed(chunk.data(), 600, take));
    EXPECT_FALSE(framer.feed(chunk.data(), 600, take));
    EXPECT_TRUE(framer.over_limit());
    EXPECT_EQ(framer.line_number(), 1u);
    EXPECT_EQ(framer.partial().size(), 600u) << "for the excerpt of the message";
}

// covers: 000-2.3-newline
TEST(LineFramer, LinesDoNotDependOnHowTheStreamIsSplit) {
    std::mt19937 random(20261121);  // NOLINT: fixed seed: the same streams in each run
    auto below = [&](size_t end) { return static_cast<size_t>(random() % end); };
    for (int round = 0; round < 3000; ++round) {
        std::string stream;
        const size_t pieces = below(12);
        for (size_t i = 0; i < pieces; ++i) {
            stream += std::string(below(12), static_cast<char>('a' + below(26)));
            stream += std::vector<std::string>{"\n", "\r\n", "\r", "\n\n", "é", ""}[below(6)];
        }
        for (const uint64_t limit : {kNoLimit, uint64_t{8}, uint64_t{1}}) {
            const Framed whole = frame({stream}, limit);
            std::vector<std::string> bytes;
            for (const char c : stream) bytes.emplace_back(1, c);
            ASSERT_EQ(frame(bytes, limit), whole) << testing::PrintToString(stream);
            for (int split = 0; split < 5; ++split) {
                std::vector<std::string> chunks;
                for (size_t at = 0; at < stream.size();) {
                    const size_t length = 1 + below(9);
                    chunks.push_back(stream.substr(at, length));
                    at += length;
                }
                ASSERT_EQ(frame(chunks, limit), whole) << testing::PrintToString(chunks);
            }
        }
    }
}

}  // namespace
