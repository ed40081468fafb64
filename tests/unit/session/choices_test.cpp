// SPDX-License-Identifier: Apache-2.0
#include "session/choices.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "unit/base/json/document.hpp"

namespace narratoria::session {
namespace {

using Offer = Choices::Offer;

class ChoicesTest : public testing::Test {
protected:
    Offer add(std::string_view payload, std::string_view tool = "a", uint32_t attempt = 1) {
        json::ParseError error;
        EXPECT_TRUE(document.parse(payload, error)) << error.message;
        warning.clear();
        return choices.add({"plan", tool, attempt}, document.root(), warning);
    }

    Choices choices;
    json::Document document;
    std::string warning;
};

TEST_F(ChoicesTest, AreEmptyAtFirst) { EXPECT_EQ(choices.json(), "[]"); }

TEST_F(ChoicesTest, EventsAreJoinedByToolInOrder) {
    EXPECT_EQ(add(R"({"choices":["b1"]})", "b"), Offer::Taken);
    EXPECT_EQ(add(R"({"choices":["a1","a2"]})", "a"), Offer::Taken);
    EXPECT_EQ(add(R"({"choices":["b2"]})", "b"), Offer::Taken);
    EXPECT_EQ(choices.json(), R"(["b1","b2","a1","a2"])");
    EXPECT_EQ(warning, "");
    choices.clear();
    EXPECT_EQ(choices.json(), "[]");
}

TEST_F(ChoicesTest, EmptyAndRepeatedTextsAreDropped) {
    EXPECT_EQ(add(R"({"choices":["Go","","Go"," \t"]})"), Offer::Taken);
    EXPECT_EQ(warning, "some choices of a narrative_choice are not offered: 2 empty");
    EXPECT_EQ(add(R"({"choices":["Go","Stay"]})", "b"), Offer::Taken);
    EXPECT_EQ(warning, "") << "two tools may offer the same choice";
    EXPECT_EQ(choices.json(), R"(["Go","Stay"])");
}

TEST_F(ChoicesTest, TextsWithoutAVisibleCharacterAreDropped) {
    for (const char* text : {"\u200b", "\u00a0\u2003", "\ufeff", "\u202e\u2066", "\u3164",
                             "\\u0007", "\u2060\u00ad"}) {
        EXPECT_EQ(add("{\"choices\":[\"" + std::string(text) + "\"]}"), Offer::Nothing) << text;
        EXPECT_EQ(warning, "narrative_choice offers nothing to the player: 1 empty") << text;
    }
    EXPECT_EQ(add("{\"choices\":[\"\u200bGo\",\"\u2192\",\"\U0001F511\"]}"), Offer::Taken);
    EXPECT_EQ(warning, "");
}

TEST_F(ChoicesTest, TextsThatAreTooLongAreDropped) {
    const std::string longest(Choices::kMaxBytes, 'x');
    EXPECT_EQ(add("{\"choices\":[\"" + longest + "\",\"" + longest + "y\"]}"), Offer::Taken);
    EXPECT_EQ(warning, "some choices of a narrative_choice are not offered: 1 longer than 64 KiB");
    EXPECT_EQ(choices.json(), "[\"" + longest + "\"]");
}

TEST_F(ChoicesTest, EntriesThatAreNotStringsAreDroppedWithAWarning) {
    EXPECT_EQ(add(R"({"choices":["Go",5,null]})"), Offer::Taken);
    EXPECT_EQ(warning, "some choices of a narrative_choice are not offered: 2 not a string");
    EXPECT_EQ(choices.json(), R"(["Go"])");
}

TEST_F(ChoicesTest, PayloadWithoutChoicesSaysWhy) {
    EXPECT_EQ(add(R"({"choices":[]})"), Offer::Nothing);
    EXPECT_EQ(warning,
              "narrative_choice offers nothing to the player: its list of choices is empty");
    EXPECT_EQ(add(R"({"choices":[""]})"), Offer::Nothing);
    EXPECT_EQ(warning, "narrative_choice offers nothing to the player: 1 empty");
    for (const char* payload : {R"({"choices":[5]})", R"({"choices":"Go"})", "{}", "[]", "5"}) {
        EXPECT_EQ(add(payload), Offer::NotAList) << payload;
        EXPECT_NE(warning, "") << payload;
    }
    EXPECT_EQ(choices.add({"plan", "a", 1}, json::Value(), warning), Offer::NotAList);
    EXPECT_EQ(choices.json(), "[]");
}

TEST_F(ChoicesTest, LaterAttemptReplacesEarlierChoices) {
    add(R"({"choices":["x"]})", "b");
    add(R"({"choices":["one","two"]})", "a", 1);
    add(R"({"choices":["two","three"]})", "a", 2);
    EXPECT_EQ(choices.json(), R"(["x","two","three"])");
}

TEST_F(ChoicesTest, WithdrawnChoiceOfferedByAnotherToolIsKept) {
    add(R"({"choices":["one","two"]})", "a", 1);
    EXPECT_EQ(add(R"({"choices":["two"]})", "b"), Offer::Taken);
    add(R"({"choices":["three"]})", "a", 2);
    EXPECT_EQ(choices.json(), R"(["three","two"])") << "the second tool still offers it";
    add(R"({"choices":["two","one"]})", "b");
    EXPECT_EQ(choices.json(), R"(["three","two","one"])");
}

// The model rebuilds the list for each event.
TEST_F(ChoicesTest, RandomEventsMatchTheModel) {
    std::mt19937 random(20261123);
    struct Attempt {
        std::string tool;
        uint32_t attempt;
        std::vector<std::string> texts;
    };
    std::vector<Attempt> model;
    const auto list_of = [](const std::vector<std::string>& texts) {
        std::string out;
        for (const std::string& text : texts) out += (out.empty() ? "\"" : ",\"") + text + "\"";
        return "[" + out + "]";
    };
    for (int event = 0; event < 300; ++event) {
        const std::string tool(1, static_cast<char>('a' + random() % 5));
        auto offer = std::find_if(model.begin(), model.end(),
                                  [&](const Attempt& each) { return each.tool == tool; });
        if (offer == model.end()) offer = model.insert(model.end(), {tool, 1, {}});
        if (random() % 8 == 0) {
            ++offer->attempt;
            offer->texts.clear();
        }
        std::vector<std::string> texts;
        for (unsigned i = random() % 4 + 1; i > 0; --i) {
            texts.push_back(std::to_string(random() % 40));
        }
        std::vector<std::string> all;
        for (const std::string& text : texts) {
            offer->texts.push_back(text);
        }
        EXPECT_EQ(add("{\"choices\":" + list_of(texts) + "}", tool, offer->attempt), Offer::Taken);
        for (const Attempt& each : model) {
            for (const std::string& text : each.texts) {
                if (std::find(all.begin(), all.end(), text) == all.end()) all.push_back(text);
            }
        }
        ASSERT_EQ(choices.json(), list_of(all)) << event;
    }
}

TEST_F(ChoicesTest, ChoicesAboveAThousandAreDropped) {
    std::string list;
    for (int i = 0; i < 1002; ++i) list += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\"";
    EXPECT_EQ(add("{\"choices\":[" + list + "]}"), Offer::Taken);
    EXPECT_EQ(warning,
              "some choices of a narrative_choice are not offered: 2 beyond the first 1000");
    const auto all = test::parse_json(choices.json());
    size_t count = 0;
    for ([[maybe_unused]] const json::Value each : all->root().elements()) ++count;
    EXPECT_EQ(count, Choices::kMaxTexts);
}

TEST_F(ChoicesTest, JoinedPayloadKeepsItsOtherMembers) {
    add(R"({"choices":["Go"]})", "b");
    add(R"({"prompt":"Where?","choices":["Stay"],"n":[1, 2]})", "a");
    EXPECT_EQ(choices.payload_with_all(document.root()),
              R"({"prompt":"Where?","n":[1, 2],"choices":["Go","Stay"]})");
    add(R"({"choices": ["Go",  "Stay"]})", "a");
    EXPECT_EQ(choices.payload_with_all(document.root()), R"({"choices": ["Go",  "Stay"]})");
}

}  // namespace
}  // namespace narratoria::session
