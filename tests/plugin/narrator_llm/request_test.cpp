// SPDX-License-Identifier: Apache-2.0
// What a model is asked: the schema of its answer, and the conversation within a budget.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rapidjson/document.h>

#include "conformance/json.hpp"
#include "narrator_llm/answer_schema.hpp"
#include "narrator_llm/conversation.hpp"

namespace narratoria::llm {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The schema of the input of a tool with this input schema.
test::Json input_of(const char* schema) {
    rapidjson::Document document;
    document.Parse(schema);
    const std::string text = answer_schema({{"die", "", &document}});
    return test::Json(text)["properties"]["tools"]["items"]["anyOf"][0]["properties"]["input"];
}

TEST(AnswerSchema, NarrativeIsFirstAndToolsAreNamed) {
    const std::string schema = answer_schema({{"die", "", nullptr}, {"lamp", "", nullptr}});
    EXPECT_LT(schema.find("\"narrative\""), schema.find("\"tools\""));
    EXPECT_LT(schema.find("\"tools\""), schema.find("\"choices\""));
    EXPECT_THAT(schema, HasSubstr(R"("tool":{"enum":["die"]})"));
    EXPECT_THAT(schema, HasSubstr(R"("tool":{"enum":["lamp"]})"));
    EXPECT_THAT(answer_schema({}), Not(HasSubstr("tools")));
}

TEST(AnswerSchema, KeepsWhatServersUnderstandOfAToolsInput) {
    EXPECT_EQ(input_of(R"({"type":"object","title":"x","required":["sides","gone"],"properties":{
                 "sides":{"type":"integer","minimum":2,"maximum":20},"colour":{"enum":["red","blue"]},
                 "name":{"type":["string","null"],"maxLength":9},"on":{"type":"boolean"},"kind":{"const":"d"},
                 "list":{"type":"array","items":{"type":"number"}},
                 "either":{"oneOf":[{"type":"string"},{"type":"integer"}]}}})"),
              test::Json(R"({"type":"object","properties":{
                 "sides":{"type":"integer","minimum":2,"maximum":20},"colour":{"enum":["red","blue"]},
                 "name":{"type":"string","maxLength":9},"on":{"type":"boolean"},"kind":{"enum":["d"]},
                 "list":{"type":"array","items":{"type":"number"},"maxItems":8},
                 "either":{"anyOf":[{"type":"string","maxLength":200},{"type":"integer"}]}},
                 "required":["sides"],"additionalProperties":false})"));
}

TEST(AnswerSchema, LeavesOutWhatSomeServersRefuse) {
    EXPECT_EQ(
        input_of(R"({"type":"object","properties":{"a":{"$ref":"#/$defs/x"},
                 "b":{"type":"string","pattern":"^a+$","format":"date","maxLength":100000}}})"),
        test::Json(R"({"type":"object","properties":{"a":{},"b":{"type":"string","maxLength":200}},
                       "required":[],"additionalProperties":false})"));
}

TEST(AnswerSchema, DeepSchemasEnd) {
    std::string deep = "{\"type\":\"object\"}";
    for (int i = 0; i < 500; ++i) deep = R"({"type":"object","properties":{"a":)" + deep + "}}";
    EXPECT_LT(answer_schema({{"die", "", nullptr}}).size(), 1000u);
    rapidjson::Document document;
    document.Parse<rapidjson::kParseIterativeFlag>(deep.c_str());
    EXPECT_LT(answer_schema({{"die", "", &document}}).size(), 2000u);
}

// ---- the conversation

class ConversationTest : public ::testing::Test {
protected:
    // Plays a turn; returns what the model was shown.
    std::string play(const std::string& prompt, const std::string& narrative) {
        conversation.begin_turn(before, prompt);
        const std::string shown = show();
        conversation.add("assistant", "{\"narrative\":\"" + narrative + "\"}");
        before.push_back({prompt, narrative});
        if (before.size() > 20) before.erase(before.begin());
        return shown;
    }
    std::string show() {
        std::string all;
        bytes = 0;
        for (const Message& each : conversation.messages("The rules.", state, 200)) {
            all += std::string(each.role) + ": " + each.content + "\n";
            bytes += each.content.size();
        }
        return all;
    }

    Conversation conversation{2000};
    std::vector<SeenTurn> before;
    std::string state;
    size_t bytes = 0;  // of what was shown last, without the roles
};

TEST_F(ConversationTest, HasTheRulesTheTurnsAndTheState) {
    state = "gold: 5";
    play("look", "A door.");
    EXPECT_EQ(play("open", "It creaks."),
              "system: The rules.\nuser: look\nassistant: {\"narrative\":\"A door.\"}\n"
              "user: open\n\ngold: 5\n");
}

TEST_F(ConversationTest, BeginsWithTheTurnsOfAStoredGame) {
    before = {{"look", "A door."}};
    EXPECT_THAT(play("open", "It creaks."),
                HasSubstr("user: look\nassistant: {\"narrative\":\"A door.\""));
}

TEST_F(ConversationTest, FollowsTheSessionToAnotherTurn) {
    play("look", "A door.");
    play("open", "It creaks.");
    play("enter", "It is dark.");
    before.resize(1);
    const std::string shown = play("wait", "Nothing.");
    EXPECT_THAT(shown, HasSubstr("A door."));
    EXPECT_THAT(shown, Not(HasSubstr("It creaks.")));
}

TEST_F(ConversationTest, AnotherAnswerToThePromptReplacesTheFirst) {
    play("look", "A door.");
    before.clear();
    play("look", "A gate.");
    const std::string shown = play("open", "It creaks.");
    EXPECT_THAT(shown, HasSubstr("A gate."));
    EXPECT_THAT(shown, Not(HasSubstr("A door.")));
}

TEST_F(ConversationTest, NeverExceedsTheBudgetAndKeepsTheState) {
    state = "the key is under the stone";
    for (int i = 0; i < 500; ++i) {
        const std::string shown = play("I go on, for the " + std::to_string(i) + "th time",
                                       "Here is a wall, and behind it number " + std::to_string(i) +
                                           std::string(static_cast<size_t>(i % 7) * 30, '.'));
        EXPECT_LE(static_cast<double>(shown.size()) / 3.5 + 200, 2000) << i;
        EXPECT_THAT(shown, HasSubstr(state)) << i;
    }
}

TEST_F(ConversationTest, NextRequestBeginsAsTheLastOne) {
    size_t all = 0;
    size_t shared = 0;
    std::string last;
    for (int i = 0; i < 100; ++i) {
        const std::string shown = play("I go on, for the " + std::to_string(i) + "th time",
                                       "Here is a wall, and behind it number " + std::to_string(i));
        const auto end = std::mismatch(last.begin(), last.end(), shown.begin(), shown.end()).first;
        if (i > 0) {
            all += last.size();
            shared += static_cast<size_t>(end - last.begin());
        }
        last = shown;
    }
    EXPECT_GE(static_cast<double>(shared) / static_cast<double>(all), 0.9);
}

TEST_F(ConversationTest, OldTurnsBecomeLines) {
    std::string shown;
    for (int i = 0; i < 60; ++i) {
        shown =
            play("step " + std::to_string(i), "Wall " + std::to_string(i) + std::string(80, '.'));
    }
    EXPECT_THAT(shown, HasSubstr("What happened before, in short:\n"));
    EXPECT_THAT(shown, HasSubstr("assistant: {\"narrative\":\"Wall 58"));
}

TEST_F(ConversationTest, CountsAsTheServerDoes) {
    // This server needs a token for each byte.
    conversation.calibrate(1000, 1000);
    for (int i = 0; i < 300; ++i) {
        play("step " + std::to_string(i), "Wall " + std::to_string(i));
        EXPECT_LE(bytes + 200, 2000u);
    }
}

TEST_F(ConversationTest, LongStateIsCutAtALine) {
    for (int i = 0; i < 1000; ++i) state += "key " + std::to_string(i) + ": value\n";
    const std::string shown = play("look", "A door.");
    EXPECT_THAT(shown, HasSubstr(": value\n(the rest is left out)"));
    EXPECT_LE(static_cast<double>(shown.size()) / 3.5 + 200, 2000);
}

}  // namespace
}  // namespace narratoria::llm
