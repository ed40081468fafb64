// SPDX-License-Identifier: Apache-2.0
#include "session/turn.hpp"

#include "session_fixture.hpp"
#include "unit/base/json/document.hpp"

namespace narratoria::session {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class TurnTest : public SessionFixture {};

// covers: 003-13.6-parent-plan
TEST_F(TurnTest, ParentPlanMayBeARefusedOne) {
    open();
    ask();
    answer(plan("ran", {"a"}));
    end("a", plan::failed());
    EXPECT_EQ(request()["parentPlanId"].string(), "ran");
    answer(plan("refused", {"a"}));
    EXPECT_EQ(request()["parentPlanId"].string(), "refused");
    answer("{");
    EXPECT_EQ(request()["parentPlanId"].string(), "refused") << "this answer has no requestId";
    answer(R"({"requestId":"faulty","tools":5})");
    EXPECT_EQ(request()["parentPlanId"].string(), "faulty");
    EXPECT_EQ(questions.size(), 5u);
    answer(plan("last", {"b"}, R"("metadata":{"parentPlanId":"faulty"})"));
    EXPECT_EQ(Json(bodies(event::Kind::PlanStarted).back())["parentPlanId"].string(), "faulty");
    EXPECT_THAT(warnings(), ElementsAre("PLAN_REFUSED", "PLAN_REFUSED", "PLAN_REFUSED"));
}

TEST_F(TurnTest, PromptTimeoutWhileToolsLingerCompletes) {
    settings.times.prompt_ms = 10'000;
    open();
    ask();
    answer(plan("p1", {"a"}));
    runner.say("a", R"({"version":"0","type":"done","ok":true})");
    clock.advance(10'000);
    ASSERT_EQ(turns.size(), 1u);
    EXPECT_EQ(turns[0].outcome, TurnOutcome::Completed);
    EXPECT_EQ(turns[0].narrative, "This is p1.");
    EXPECT_THAT(warnings(), ElementsAre("LINGERED"));
}

TEST_F(TurnTest, ToldHasWhatTheToolsSay) {
    const auto done = [](std::string_view summary) {
        return R"({"version":"0","type":"done","ok":true,"summary":")" + std::string(summary) +
               R"("})";
    };
    const char* const error =
        R"({"version":"0","type":"error","errorCode":"JAM","errorMessage":"It jams."})";
    open();
    ask();
    answer(plan("p1", {"a", "b"}));
    runner.say("a", done("p1."));  // a part of "This is p1."
    end("a");
    runner.say("b", error);
    end("b", plan::failed("JAM", "the reason for the author"));
    answer(plan("p2", {"c", "d"}));
    runner.say("c", done("It turns."));
    end("c");
    runner.say("d", error);
    runner.say("d", R"({"version":"0","type":"done","ok":false,"summary":"It is stuck."})");
    end("d", plan::failed("JAM", "the reason for the author"));
    answer(plan("p3", {"e"}));
    runner.say("e", done("It opens."));
    end("e");
    ASSERT_EQ(turns.size(), 1u);
    EXPECT_EQ(turns[0].told,
              "This is p1.\n\nIt jams.\n\nThis is p2.\n\nIt turns.\n\nIt is stuck.\n\n"
              "This is p3.\n\nIt opens.");
}

TEST_F(TurnTest, NarrativeOfAContinuationReplacesWhatItsToolsSaid) {
    open();
    for (const char* next : {R"({"requestId":"p2","narrative":"You are through.","tools":[]})",
                             R"({"requestId":"p2","tools":[]})"}) {
        ask();
        answer(plan("p1", {"a"}, R"("continue":true)"));
        runner.say("a", R"({"version":"0","type":"done","ok":true,"summary":"It opens."})");
        end("a");
        answer(next);
    }
    ASSERT_EQ(turns.size(), 2u);
    EXPECT_EQ(turns[0].told, "This is p1.\n\nYou are through.");
    EXPECT_EQ(turns[1].told, "This is p1.\n\nIt opens.");
}

TEST_F(TurnTest, EndingIsThatOfTheLastPlanIfItSucceeds) {
    open();
    ask();
    answer(plan("p1", {"a"}, R"("metadata":{"ending":"Lost"})"));
    end("a", plan::failed());
    answer(plan("p2", {"b"}, R"("metadata":{"ending":"Saved"})"));
    end("b");
    ask();
    answer(plan("p3", {"c"}));
    end("c");
    ASSERT_EQ(turns.size(), 2u);
    EXPECT_EQ(turns[0].ending, "Saved");
    EXPECT_EQ(turns[1].ending, "");
}

TEST_F(TurnTest, FallbackFollowsFiveGenerations) {
    open();
    ask();
    for (int i = 0; i < 5; ++i) fail("no idea");
    EXPECT_EQ(questions.size(), 5u);
    ASSERT_EQ(turns.size(), 1u);
    EXPECT_EQ(turns[0].outcome, TurnOutcome::Fallback);
    EXPECT_EQ(turns[0].generations, 5u);
    EXPECT_EQ(turns[0].narrative,
              "Nothing comes of it, and the moment passes. What do you do instead?");
    EXPECT_EQ(turns[0].result, nullptr);
    EXPECT_EQ(Json(bodies(event::Kind::Narrative).at(0))["source"].string(), "fallback");
    const std::vector<std::string> warnings = bodies(event::Kind::Warning);
    ASSERT_EQ(warnings.size(), 5u);
    EXPECT_THAT(warnings, Each(warnings[0])) << "so that a view can fold them";
}

TEST_F(TurnTest, FallbackReasonIsLogged) {
    open();
    ask();
    for (int i = 0; i < 4; ++i) answer("{");
    EXPECT_THAT(lines, IsEmpty());
    answer(R"({"requestId":"p","tools":5})");
    ASSERT_EQ(turns.size(), 1u);
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_THAT(lines[0], StartsWith("session-1: a prompt ended with the fallback text after 5 "
                                     "replies of the narrator; the last one: the narrator's plan "
                                     "was refused: "));
    EXPECT_THAT(lines[0], HasSubstr("/tools"));
    EXPECT_EQ(line_codes[0], "FALLBACK");
    ask();
    for (const char* skill : {"a", "b", "c", "d", "e"}) {
        answer(plan(std::string("plan-") + skill, {skill}));
        end(skill, plan::failed("EXIT_STATUS", "the rope broke"));
    }
    ASSERT_EQ(turns.size(), 2u);
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_THAT(lines[1], HasSubstr("its tools failed: \"e\": the rope broke"));
}

TEST_F(TurnTest, FallbackTextsOfAStoryTakeTurns) {
    settings.story.emplace();
    settings.story->folder = "/";
    settings.story->fallback_templates = {"You said: {prompt}",
                                          "It is {/text/{/place}}.{/no/{/way}}"};
    open();
    const auto state = test::parse_json(R"({"place":"hall","text":{"hall":"cold"}})");
    ASSERT_FALSE(session->patch_state(state->root(), ""));
    for (const char* words : {"one", "two", "three"}) {
        ask(words);
        for (int i = 0; i < 5; ++i) fail("no idea");
    }
    ASSERT_EQ(turns.size(), 3u);
    EXPECT_EQ(turns[0].narrative, "You said: one");
    EXPECT_EQ(turns[1].narrative, "It is cold.");
    EXPECT_EQ(turns[2].narrative, "You said: three");
}

TEST_F(TurnTest, UndeliveredAnswerIsInTime) {
    settings.times.narrator_ms = 5000;
    open();
    ask();
    EXPECT_EQ(send(questions[0].token, true, plan("p1", {"a"})), NAR_OK);
    clock.advance(5000);
    EXPECT_THAT(withdrawn, IsEmpty());
    run();
    EXPECT_EQ(questions.size(), 1u);
    EXPECT_THAT(runner.running(), ElementsAre("a"));
}

TEST_F(TurnTest, PromptTimeoutEndsItsTools) {
    settings.times.prompt_ms = 10'000;
    open();
    ask();
    clock.advance(4'000);
    answer(plan("p1", {"a"}));
    clock.advance(6'000);
    ASSERT_EQ(turns.size(), 1u);
    EXPECT_EQ(turns[0].outcome, TurnOutcome::Timeout);
    EXPECT_THAT(runner.running(), IsEmpty());
    EXPECT_EQ(questions.size(), 1u);
}

// The defaults that engine.h documents for nar_times.
TEST_F(TurnTest, DefaultTimeoutsAreAsDocumented) {
    settings.times = engine::Times{};
    EXPECT_EQ(settings.times.grace_ms, 2'000u);
    open();
    ask();
    clock.advance(4'999);
    EXPECT_EQ(questions.size(), 1u);
    clock.advance(1);
    EXPECT_EQ(questions.size(), 2u);
    answer(R"({"requestId":"p1","narrative":"Wait.","tools":[)"
           R"({"toolId":"a","toolPath":"/a","async":true},)"
           R"({"toolId":"b","toolPath":"/b","async":true,"timeoutMs":0}],)"
           R"("parallel":true})");
    ASSERT_THAT(runner.running(), ElementsAre("a", "b"));
    clock.advance(29'999);
    EXPECT_THAT(runner.terminated, IsEmpty());
    clock.advance(1);
    EXPECT_THAT(runner.terminated, ElementsAre("a"));
    clock.advance(29'999);
    EXPECT_EQ(questions.size(), 2u);
    EXPECT_THAT(runner.running(), Contains("b"));
    clock.advance(1);
    EXPECT_THAT(runner.running(), IsEmpty());
    EXPECT_EQ(questions.size(), 3u) << "the plan has ended and the narrator is asked again";
}

TEST_F(TurnTest, PromptTimeoutDefaultsToFiveMinutes) {
    settings.times.prompt_ms = engine::Times{}.prompt_ms;
    open();
    ask();
    clock.advance(299'999);
    EXPECT_THAT(turns, IsEmpty());
    clock.advance(1);
    ASSERT_EQ(turns.size(), 1u);
    EXPECT_EQ(turns[0].outcome, TurnOutcome::Timeout);
}

// covers: 004-prompt-timestamp
TEST_F(TurnTest, PromptTimestampIsItsSubmission) {
    open();
    ASSERT_TRUE(prompt("first"));
    ASSERT_TRUE(prompt("second"));
    run();
    clock.advance(1'500);
    answer(plan("p1", {}));
    ASSERT_EQ(questions.size(), 2u);
    EXPECT_EQ(request()["prompt"]["text"].string(), "second");
    EXPECT_EQ(request()["prompt"]["timestamp"].string(), "2023-11-14T22:13:20.000000Z");
    clock.advance(1'500);
    answer(plan("p2", {}));
    ask("third");
    EXPECT_EQ(request()["prompt"]["timestamp"].string(), "2023-11-14T22:13:23.000000Z");
    EXPECT_EQ(Json(bodies(event::Kind::Prompt).back())["timestamp"].string(),
              "2023-11-14T22:13:23.000000Z");
}

TEST_F(TurnTest, ChoicesOfAFailedPlanAreDropped) {
    const std::string choice =
        R"({"version":"0","type":"ui_event","event":"narrative_choice","payload":{"choices":["Run"]}})";
    open();
    ask();
    answer(plan("p1", {"a"}));
    runner.say("a", choice);
    end("a", plan::failed());
    answer(plan("p2", {"b"}));
    end("b");
    ask();
    answer(plan("p3", {"a"}));
    runner.say("a", choice);
    end("a");
    ASSERT_EQ(turns.size(), 2u);
    EXPECT_EQ(turns[0].choices, "[]");
    EXPECT_EQ(turns[1].choices, R"(["Run"])");
}

}  // namespace
}  // namespace narratoria::session
