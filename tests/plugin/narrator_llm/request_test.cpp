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

using ::testing::ContainsRegex;
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

TEST(AnswerSchema, InputWithoutMembersIsEmpty) {
    const test::Json none(
        R"({"type":"object","properties":{},"required":[],"additionalProperties":false})");
    EXPECT_EQ(input_of(R"({"type":"object","properties":{},"additionalProperties":false})"), none);
    EXPECT_EQ(input_of(R"({"type":"object","additionalProperties":false})"), none);
    EXPECT_EQ(input_of(R"({"type":"object","properties":{}})"), test::Json(R"({"type":"object"})"));
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
        conversation.begin_turn(before, notes, prompt);
        notes = conversation.notes();
        const std::string shown = show();
        conversation.answer("{\"narrative\":\"" + narrative + "\"}");
        before.push_back({prompt, narrative});
        if (before.size() > 20) before.erase(before.begin());
        return shown;
    }
    std::string show() {
        std::string all;
        bytes = 0;
        for (const Message& each : conversation.messages("The rules.", {"", state}, 200)) {
            all += std::string(each.role) + ": " + each.content + "\n";
            bytes += each.content.size();
        }
        return all;
    }

    static std::string text_of(Conversation& conversation) {
        std::string all;
        for (const Message& each : conversation.messages("The rules.", {}, 200)) {
            all += each.content + "\n";
        }
        return all;
    }
    // Plays turns until the model should sum the story up; returns their number.
    int play_until_long() {
        int turns = 0;
        while (!conversation.needs_summary() && turns < 200) {
            ++turns;
            play("step " + std::to_string(turns), "Wall " + std::to_string(turns) + ".");
        }
        return turns;
    }

    Conversation conversation{2000};
    std::vector<SeenTurn> before;
    Notes notes;  // of the last turn
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
    for (int i = 0; i < 20; ++i) state += "fact " + std::to_string(i) + ": true\n";
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

TEST_F(ConversationTest, SummaryIsAskedForBeforeTurnsMustLeave) {
    const int turns = play_until_long();
    EXPECT_THAT(show(), HasSubstr("user: step 1\n")) << "after " << turns << " turns";
    const std::vector<Message> request = conversation.summary_request("The rules.", 200);
    EXPECT_EQ(request.front().content, "The rules.");
    EXPECT_EQ(request[1].content, "step 1") << "it begins as the last request";
    EXPECT_THAT(request.back().content, HasSubstr("Sum up"));
}

TEST_F(ConversationTest, SummaryReplacesTheOlderHalf) {
    const int turns = play_until_long();
    conversation.sum_up("You walked along a wall.");
    EXPECT_FALSE(conversation.needs_summary());
    const std::string shown = play("wait", "Nothing.");
    EXPECT_THAT(shown, HasSubstr("in short:\nYou walked along a wall.\n"));
    EXPECT_THAT(shown, Not(HasSubstr("step 1\n")));
    EXPECT_THAT(shown, HasSubstr("user: step " + std::to_string(turns) + "\n"));
}

TEST_F(ConversationTest, SummaryStaysWhileLaterTurnsBecomeLines) {
    play_until_long();
    conversation.sum_up("You walked along a wall.");
    std::string shown;
    for (int i = 0; i < 200; ++i) shown = play("step " + std::to_string(i), std::string(90, '.'));
    EXPECT_THAT(shown, HasSubstr("in short:\nYou walked along a wall.\n- step 1"));
}

TEST_F(ConversationTest, IsContinuedWhenNoTurnFitsAnyMore) {
    state = std::string(3'000, 's');
    for (int i = 0; i < 20; ++i) play("step " + std::to_string(i), std::string(1'500, 'w'));
    const std::string shown = play("wait", "Nothing.");
    EXPECT_THAT(shown, HasSubstr("- step 18: www")) << "its lines are kept";
    EXPECT_THAT(shown, Not(HasSubstr("user: step"))) << "the conversation has not begun anew";
}

TEST_F(ConversationTest, NotesContinueItInAnotherProcess) {
    play_until_long();
    conversation.sum_up("You walked along a wall.");
    play("wait", "Nothing.");
    play("listen", "Rain.");
    Conversation other{2000};
    other.begin_turn(before, notes, "go on");
    EXPECT_THAT(text_of(other), HasSubstr("in short:\nYou walked along a wall.\n"));
    EXPECT_THAT(text_of(other), HasSubstr("listen\n"));
}

TEST_F(ConversationTest, NotesHaveALineForTurnsThatARequestDoesNotHave) {
    for (int i = 1; i <= 25; ++i)
        play("step " + std::to_string(i), "Wall " + std::to_string(i) + ".");
    Conversation other{2000};
    other.begin_turn(before, notes, "go on");
    const std::string shown = text_of(other);
    for (int i = 1; i <= 25; ++i) {
        EXPECT_THAT(shown, HasSubstr("Wall " + std::to_string(i) + ".")) << i;
    }
}

TEST_F(ConversationTest, SummaryLeavesWithTheTurnThatItTellsOf) {
    play_until_long();
    const Notes before_it = notes;
    conversation.sum_up("You walked along a wall.");
    before.pop_back();
    notes = before_it;
    EXPECT_THAT(play("turn", "Mist."), Not(HasSubstr("You walked")));
}

TEST_F(ConversationTest, TurnsWithoutAPlanLeaveNoGap) {
    for (int i = 1; i <= 25; ++i)
        play("step " + std::to_string(i), "Wall " + std::to_string(i) + ".");
    // The notes are those of the last plan.
    for (const char* prompt : {"jump", "fly"}) before.push_back({prompt, "Nothing comes of it."});
    before.erase(before.begin(), before.begin() + 2);
    Conversation other{2000};
    other.begin_turn(before, notes, "go on");
    const std::string shown = text_of(other);
    for (int i = 8; i <= 25; ++i) {
        EXPECT_THAT(shown, HasSubstr("Wall " + std::to_string(i) + ".")) << i;
    }
}

TEST_F(ConversationTest, EqualTurnsAreCounted) {
    for (int i = 0; i < 6; ++i) play("I wait", "Nothing.");
    before.resize(3);
    const std::string shown = play("I sing", "La.");
    EXPECT_THAT(shown, Not(ContainsRegex("(user: I wait[^u]*){4}")));
}

TEST_F(ConversationTest, LongStateLeavesRoomForTheAnswer) {
    Conversation small{1600};
    small.begin_turn(before, {}, "look");
    size_t size = 0;
    for (const Message& each : small.messages("The rules.", {"", std::string(30'000, 's')}, 800)) {
        size += each.content.size();
    }
    EXPECT_LE(static_cast<double>(size) / 3.5 + 800, 1600);
}

TEST_F(ConversationTest, LongQuestionIsCut) {
    conversation.begin_turn(before, {}, "look");
    conversation.answer("{}");
    conversation.ask(std::string(30'000, 'r'));
    EXPECT_LE(static_cast<double>(show().size()) / 3.5, 400);
}

TEST_F(ConversationTest, SummaryIsNotWorthItWhereTheStateLeavesLittleRoom) {
    Conversation small{1600};
    for (int i = 0; i < 12; ++i) {
        small.begin_turn(before, {}, "I wait");
        small.messages("The rules.", {"", std::string(1'400, 's')}, 800);
        small.answer(std::string(60, 'w'));
        before.push_back({"I wait", std::to_string(i)});
        EXPECT_FALSE(small.needs_summary()) << i;
    }
}

TEST_F(ConversationTest, NotesOfAnotherTurnReplaceTheSummary) {
    play_until_long();
    const std::vector<SeenTurn> then = before;
    const Notes old = notes;
    conversation.sum_up("You walked along a wall.");
    play("wait", "Nothing.");
    play("listen", "Rain.");
    before = then;
    notes = old;
    EXPECT_THAT(play("turn", "Mist."), Not(HasSubstr("You walked")));
}

TEST_F(ConversationTest, CountsAsTheServerDoes) {
    // This server needs a token for each byte.
    conversation.calibrate(1000, 1000);
    for (int i = 0; i < 300; ++i) {
        play("step " + std::to_string(i), "Wall " + std::to_string(i));
        EXPECT_LE(bytes + 200, 2000u);
    }
}

TEST_F(ConversationTest, FactsAreShownWhateverIsLong) {
    const std::string facts = "- name: Ada\n";
    for (const size_t prompt : {10u, 3'000u, 6'000u, 6'200u}) {
        conversation.begin_turn(before, notes, std::string(prompt, 'p'));
        const auto all = conversation.messages("The rules.", {facts, std::string(9'000, 's')}, 200);
        size_t size = 0;
        for (const Message& each : all) size += each.content.size();
        EXPECT_THAT(all.back().content, HasSubstr(facts)) << prompt;
        EXPECT_LE(static_cast<double>(size) / 3.5 + 200, 2000) << prompt;
    }
}

TEST_F(ConversationTest, SaysWhatItLeavesOut) {
    conversation.begin_turn(before, notes, "look");
    conversation.messages("The rules.", {"", "gold: 5"}, 200);
    EXPECT_EQ(conversation.left_out(), "");
    conversation.messages("The rules.", {"", std::string(9'000, 's')}, 200);
    EXPECT_THAT(conversation.left_out(),
                ContainsRegex("rest of the state after 3[0-9]+ of its 9000"));
    conversation.messages(std::string(6'230, 'r'), {"", std::string(9'000, 's')}, 200);
    EXPECT_EQ(conversation.left_out(), "the state");
}

TEST_F(ConversationTest, RefusesWhatCannotFit) {
    conversation.begin_turn(before, notes, std::string(7'000, 'p'));
    try {
        conversation.messages("The rules.", {"- name: Ada\n", ""}, 200);
        FAIL();
    } catch (const NoRoom& error) {
        EXPECT_THAT(error.what(), HasSubstr("the budget of 2000 tokens is too small"));
        EXPECT_THAT(error.what(), HasSubstr("2007 for the prompt"));
        EXPECT_THAT(error.what(), HasSubstr("raise \"budget\""));
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
