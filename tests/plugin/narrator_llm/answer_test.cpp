// SPDX-License-Identifier: Apache-2.0
// How a model's answer is read: the events of its server, the narrative while it is written, and the
// whole answer.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/json.hpp"
#include "narrator_llm/answer.hpp"
#include "narrator_llm/chat.hpp"
#include "narrator_llm/narrative_reader.hpp"
#include "narrator_llm/server_events.hpp"

namespace narratoria::llm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// ---- the server's events

std::vector<std::string> events_of(std::string_view stream, size_t piece) {
    ServerEvents events;
    std::vector<std::string> all;
    const auto take = [&](std::string_view data) { all.emplace_back(data); };
    for (size_t at = 0; at < stream.size(); at += piece) {
        events.feed(stream.substr(at, piece), take);
    }
    events.end(take);
    return all;
}

TEST(ServerEvents, EndAtEmptyLinesHoweverTheyAreSplit) {
    const std::string stream =
        "data: one\n\n: a comment\r\nevent: x\r\ndata:two\r\ndata: lines\r\n\r\ndata\rdata: "
        "three\r\r"
        "data: cut";
    for (size_t piece = 1; piece <= stream.size(); ++piece) {
        EXPECT_THAT(events_of(stream, piece), ElementsAre("one", "two\nlines", "three", "cut"))
            << piece;
    }
}

struct Read {
    std::string fault;
    Answer answer;
};

Read read(std::string_view text) {
    Read out;
    out.fault = read_answer(text, {"die", "lamp"}, out.answer);
    return out;
}

// ---- the narrative while it is written

std::string narrative_of(std::string_view answer, size_t piece = 1) {
    NarrativeReader reader;
    std::string told;
    for (size_t at = 0; at < answer.size(); at += piece) {
        told += reader.feed(answer.substr(at, piece));
    }
    EXPECT_EQ(told, reader.text());
    return told;
}

TEST(NarrativeReader, ReadsTheMemberHoweverItIsSplit) {
    const std::string answer =
        R"( {"x": {"narrative": "no"}, "narrative": "\"Très\" 🕯\n\u00e9\uD83D\uDE00\\", "choices": ["narrative"]})";
    for (size_t piece = 1; piece <= answer.size(); ++piece) {
        EXPECT_EQ(narrative_of(answer, piece), "\"Très\" 🕯\né😀\\") << piece;
    }
}

TEST(NarrativeReader, ReadsWithinAFence) {
    EXPECT_EQ(narrative_of("```json\n{\"narrative\": \"It opens.\"}\n```"), "It opens.");
}

TEST(NarrativeReader, ThoughtsAreNotTold) {
    const std::string object = R"({"narrative": "It opens."})";
    for (const std::string thoughts :
         {"<think>The {killer} is Marr.</think>", "\n<think></think>\n"}) {
        EXPECT_EQ(narrative_of(thoughts + object), "It opens.");
        EXPECT_EQ(read(thoughts + object).answer.narrative, "It opens.");
        EXPECT_EQ(read(thoughts + "It opens.").answer.narrative, "It opens.");
    }
    EXPECT_EQ(narrative_of("<think>The killer is Marr. " + std::string(500, '.')), "");
    EXPECT_EQ(read("<think>The killer").fault, "it is empty");
    EXPECT_EQ(narrative_of("<thing> falls." + std::string(100, '.')).substr(0, 7), "<thing>");
}

TEST(NarrativeReader, ProseIsTheNarrative) {
    const std::string prose = "You wait. {A cat} comes. " + std::string(100, 'x');
    EXPECT_EQ(narrative_of(prose), prose);
}

TEST(NarrativeReader, WordsBeforeTheObjectAreNotTold) {
    EXPECT_EQ(narrative_of("[{\"narrative\": \"It opens.\"}]"), "It opens.");
    EXPECT_EQ(narrative_of("Sure {really}! {\"narrative\": \"It opens.\"}"), "It opens.");
    EXPECT_EQ(narrative_of("You wait."), "") << "it could still be such a word";
}

TEST(NarrativeReader, OnlyTheFirstNarrativeIsTold) {
    EXPECT_EQ(narrative_of(R"({"narrative": "One.", "narrative": "Two."})"), "One.");
}

// ---- the whole answer

TEST(Answer, HasNarrativeToolsAndChoices) {
    const Read all =
        read(R"({"narrative": " You throw. ", "tools": [{"tool": "die", "input": {"sides": 6}},
                              {"tool": "lamp"}], "choices": ["Again", " ", "Stop"]})");
    EXPECT_EQ(all.fault, "");
    EXPECT_EQ(all.answer.narrative, "You throw.");
    ASSERT_THAT(all.answer.tools, SizeIs(2));
    EXPECT_EQ(all.answer.tools[0].input, R"({"sides":6})");
    EXPECT_EQ(all.answer.tools[1].input, "{}");
    EXPECT_THAT(all.answer.choices, ElementsAre("Again", "Stop"));
}

TEST(Answer, WhatIsAroundTheObjectIsIgnored) {
    for (const char* text : {"```json\n{\"narrative\": \"It opens.\"}\n```",
                             "Sure! {\"narrative\": \"It opens.\"} Enjoy.",
                             "{\"narrative\": \"It opens.\"}{\"narrative\": \"No.\"}"}) {
        EXPECT_EQ(read(text).fault, "") << text;
        EXPECT_EQ(read(text).answer.narrative, "It opens.") << text;
    }
}

TEST(Answer, ProseIsANarrative) { EXPECT_EQ(read("You wait.").answer.narrative, "You wait."); }

TEST(Answer, CutEndIsCompletedAsFarAsItIsCertain) {
    const std::string whole =
        R"({"narrative": "It \u00e9 \"opens\".", "tools": [{"tool": "die", "input": {"sides": 6}}], "choices": ["Go", "Stay"]})";
    const size_t tools = whole.find("\"tools\"");
    const size_t choices = whole.find("\"choices\"");
    for (size_t size = whole.find("It"); size < whole.size(); ++size) {
        const Read cut = read(std::string_view(whole).substr(0, size));
        const bool is_in_tools = size > tools + 9 && size < choices - 2;
        if (is_in_tools) {
            EXPECT_THAT(cut.fault, HasSubstr("cut off within \"tools\"")) << whole.substr(0, size);
            continue;
        }
        EXPECT_THAT(cut.fault, testing::AnyOf("", HasSubstr("neither"))) << whole.substr(0, size);
        EXPECT_TRUE(std::string("It é \"opens\".").starts_with(cut.answer.narrative));
        EXPECT_THAT(cut.answer.tools, SizeIs(size > choices - 3 ? 1 : 0)) << whole.substr(0, size);
    }
}

TEST(Answer, FaultsSayWhatIsWrong) {
    const std::pair<const char*, const char*> cases[] = {
        {"", "it is empty"},
        {"{}", "neither a \"narrative\" nor \"tools\""},
        {"{\"narrative\": 5}", "\"narrative\" must be a string"},
        {"{\"narrative\": }", "it is not valid JSON"},
        {R"({"narrative": "a", "tools": {}})", "\"tools\" must be an array"},
        {R"({"narrative": "a", "tools": ["die"]})", "must be an object"},
        {R"({"narrative": "a", "tools": [{"name": "die"}]})", "must have \"tool\""},
        {R"({"narrative": "a", "tools": [{"tool": "dice"}]})",
         "there is no tool \"dice\"; there are die, lamp"},
        {R"({"narrative": "a", "tools": [{"tool": "die", "input": 6}]})", "must be an object"},
        {R"({"narrative": "a", "choices": "Go"})", "\"choices\" must be an array of strings"},
        {R"({"narrative": "a", "choices": [1]})", "each of \"choices\" must be a string"}};
    for (const auto& [text, fault] : cases) EXPECT_THAT(read(text).fault, HasSubstr(fault)) << text;
}

TEST(Answer, MembersThatAreNullAreMissing) {
    const Read all = read(R"({"narrative": "a", "tools": null, "choices": null})");
    EXPECT_EQ(all.fault, "");
    EXPECT_THAT(all.answer.tools, IsEmpty());
}

TEST(Answer, PlanHasUniqueToolsAndContinues) {
    const test::Json plan(
        to_plan({"Go.", {{"die", "{}"}, {"die", "{\"sides\":6}"}}, {"Stop"}}, "p", true, ""));
    EXPECT_EQ(plan["requestId"].string(), "p");
    EXPECT_EQ(plan["tools"][0]["toolId"].string(), "die");
    EXPECT_EQ(plan["tools"][1]["toolId"].string(), "die-2");
    EXPECT_EQ(plan["tools"][1]["toolPath"].string(), "die");
    EXPECT_EQ(plan["tools"][1]["input"]["sides"].integer(), 6);
    EXPECT_TRUE(plan["continue"].boolean());
    EXPECT_EQ(plan["choices"][0].string(), "Stop");
}

// ---- the response

ChatResponse response_of(std::string_view stream) {
    ChatResponse response;
    response.feed(stream);
    response.end();
    return response;
}

TEST(ChatResponse, JoinsThePiecesAndHasTheUsage) {
    const ChatResponse response = response_of(
        "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":null}}]}\n\n"
        "data: {\"choices\":[{\"delta\":{\"content\":\"{\\\"narr\"}}],\"usage\":null}\n\n"
        "data: "
        "{\"choices\":[{\"delta\":{\"content\":\"ative\\\"\"},\"finish_reason\":\"length\"}]}\n\n"
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2}}\n\n"
        "data: [DONE]\n\n");
    EXPECT_EQ(response.answer(), "{\"narrative\"");
    EXPECT_TRUE(response.is_cut());
    ASSERT_TRUE(response.tokens());
    EXPECT_EQ(response.tokens()->input, 9u);
    EXPECT_EQ(response.tokens()->cached, 0u);
    EXPECT_EQ(response.tokens()->output, 2u);
}

TEST(ChatResponse, ReadsAWholeBody) {
    ChatResponse response;
    response.begin(false);
    response.feed(R"({"choices":[{"message":{"content":"You )");
    response.feed(R"(wait."}}]})");
    EXPECT_EQ(response.end(), "You wait.");
}

TEST(ChatResponse, ReasoningCountsOnlyWithoutContent) {
    EXPECT_EQ(
        response_of(
            "data: "
            "{\"choices\":[{\"delta\":{\"reasoning_content\":\"{}\",\"content\":\"a\"}}]}\n\n")
            .answer(),
        "a");
    EXPECT_EQ(response_of("data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"so {}\"}}]}\n\n")
                  .answer(),
              "so {}");
    EXPECT_EQ(response_of("data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\"}}]}\n\n")
                  .answer(),
              "")
        << "thoughts without an answer are not told";
}

TEST(ChatResponse, ReportsAnErrorWithinTheStream) {
    EXPECT_EQ(response_of("data: {\"error\":{\"message\":\"out of memory\"}}\n\n").fault(),
              "out of memory");
    EXPECT_THAT(response_of("data: <html>\n\n").fault(), HasSubstr("not a JSON object: <html>"));
}

TEST(ChatResponse, WhiteSpaceWithoutEndIsEndless) {
    ChatResponse response;
    for (int i = 0; i < 100 && !response.is_endless(); ++i) {
        response.feed("data: {\"choices\":[{\"delta\":{\"content\":\"" + std::string(100, ' ') +
                      "\"}}]}\n\n");
    }
    EXPECT_TRUE(response.is_endless());
}

TEST(ChatResponse, MessageOfAnErrorIsTheServers) {
    EXPECT_EQ(message_of(R"({"error":{"message":"no such model","code":404}})"), "no such model");
    EXPECT_EQ(message_of(R"({"error":"no such model"})"), "no such model");
    EXPECT_EQ(message_of(R"({"detail":"no such model"})"), "no such model");
    EXPECT_EQ(message_of("<h1>Bad Gateway</h1>"), "<h1>Bad Gateway</h1>");
    EXPECT_THAT(message_of(std::string(100'000, 'x')), SizeIs(400));
}

}  // namespace
}  // namespace narratoria::llm
