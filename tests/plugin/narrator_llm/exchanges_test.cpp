// SPDX-License-Identifier: Apache-2.0
// Recorded exchanges with a model's server.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "conformance/folder.hpp"
#include "conformance/json.hpp"
#include "narrator_llm/exchanges.hpp"

namespace narratoria::llm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class ExchangesTest : public ::testing::Test {
protected:
    std::string message_for(const std::string& text) {
        folder.write("bad.ndjson", text);
        try {
            Exchanges::read(folder / "bad.ndjson");
        } catch (const std::runtime_error& error) {
            return error.what();
        }
        return "";
    }

    test::Folder folder;
    const std::string file = folder / "exchanges.ndjson";
    const ExchangeKey look{{"I look"}, 0};
};

TEST_F(ExchangesTest, AreFoundByPromptsAndContinuation) {
    append_exchange(file, look, {true, {{20, "data: a\n\n"}, {30, "data: b\n\n"}}});
    append_exchange(file, {{"I look"}, 1}, {false, {{9, "{}"}}});
    Exchanges all = Exchanges::read(file);
    const Exchange* const first = all.next(look);
    ASSERT_NE(first, nullptr);
    EXPECT_THAT(first->pieces, ElementsAre(Pair(20, "data: a\n\n"), Pair(30, "data: b\n\n")));
    EXPECT_TRUE(first->is_stream);
    EXPECT_FALSE(all.next({{"I look"}, 1})->is_stream);
    EXPECT_EQ(all.next({{"I look"}, 2}), nullptr);
    EXPECT_EQ(all.next({{"I wait", "I look"}, 0}), nullptr);
}

TEST_F(ExchangesTest, RepeatedOnesAreGivenInTheirOrder) {
    append_exchange(file, look, {true, {{1, "a"}}});
    append_exchange(file, look, {true, {{1, "b"}}});
    Exchanges all = Exchanges::read(file);
    std::string given;
    for (int i = 0; i < 4; ++i) given += all.next(look)->pieces[0].second;
    EXPECT_EQ(given, "abbb");
}

TEST_F(ExchangesTest, FileIsJsonThoughPiecesAreCutWithinCharacters) {
    append_exchange(file, look, {true, {{1, "Tr\xC3"}, {2, "\xA8s \xF0\x9F"}, {3, "\x95\xAF"}}});
    const test::Json line(folder.read("exchanges.ndjson"));
    std::string text;
    for (const test::Json& piece : line["pieces"].elements()) text += piece[1].string();
    EXPECT_EQ(text, "Très 🕯");
    EXPECT_EQ(line["pieces"][0][1].string(), "Tr");
}

TEST_F(ExchangesTest, WrongLinesAreNamed) {
    EXPECT_THAT(message_for("{\"prompts\":[\"a\"],\"pieces\":[[1,\"x\"]]}\nno\n"),
                HasSubstr("bad.ndjson, line 2: it is not a JSON object; record it again"));
    EXPECT_THAT(message_for("{}"), HasSubstr("line 1: it has no \"prompts\""));
    EXPECT_THAT(message_for(R"({"prompts":["a"],"pieces":[["x",1]]})"), HasSubstr("\"pieces\""));
    EXPECT_THROW(Exchanges::read(folder / "missing.ndjson"), std::runtime_error);
}

}  // namespace
}  // namespace narratoria::llm
