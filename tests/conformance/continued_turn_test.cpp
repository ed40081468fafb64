// SPDX-License-Identifier: Apache-2.0
// Turns that go on after a plan with "continue", and choices of plans.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/narrators.hpp"

namespace {

using namespace narratoria;
using namespace narratoria::test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::string> told(const Recorder& recorder) {
    std::vector<std::string> out;
    for (const Record& each : recorder.of(Kind::Narrative)) {
        out.push_back(each.body["text"].string());
    }
    return out;
}

std::vector<std::string> codes(const Recorder& recorder) {
    std::vector<std::string> out;
    for (const Record& each : recorder.of(Kind::Warning)) {
        out.push_back(each.body["code"].string());
    }
    return out;
}

// Its tools run before it tells what they found.
std::string looks(const std::string& tool, std::string_view members = "") {
    return plan_of({entry("look", tool)},
                   R"("narrative":"You look.","continue":true)" + std::string(members));
}

class ContinuedTurn : public ::testing::Test {
protected:
    void answer_with(ScriptedNarrator::Answer answer) {
        narrator.emplace(std::move(answer));
        SessionOptions options;
        options.narrator = narrator->narrator();
        stage.emplace(EngineOptions{}, options);
        stage->folder.says("eye",
                           {patch(R"({"seen":true})"),
                            R"({"version":"0","type":"done","ok":true,"result":{"doors":2}})"});
        stage->folder.says("offers", {event("ui_event", R"("event":"narrative_choice",)"
                                                        R"("payload":{"choices":["Wait"]})"),
                                      kDone});
        stage->folder.says("fails", {kFailed});
    }
    void answer_with(std::vector<std::string> plans) {
        answer_with([plans = std::move(plans), next = size_t{0}](const Json&) mutable {
            return plans[std::min(next++, plans.size() - 1)];
        });
    }

    std::optional<ScriptedNarrator> narrator;
    std::optional<Stage> stage;
};

TEST_F(ContinuedTurn, TellsWhatTheToolsFound) {
    answer_with([](const Json& request) {
        if (request["continuation"].integer() == 0) {
            return looks("eye", R"(,"metadata":{"part":"look"})");
        }
        EXPECT_TRUE(request["previousResult"]["success"].boolean());
        EXPECT_EQ(request["previousMetadata"]["part"].string(), "look");
        EXPECT_TRUE(request["state"]["seen"].boolean());
        const Json& found = request["previousResult"]["toolResults"][0]["result"]["doors"];
        return tells("You see " + found.text() + " doors.");
    });
    const Ended ended = turn(*stage, "look");
    EXPECT_EQ(ended.outcome, Outcome::Completed);
    EXPECT_EQ(ended.narrative, "You look.\n\nYou see 2 doors.");
    EXPECT_THAT(told(stage->recorder), ElementsAre("You look.", "You see 2 doors."));
    EXPECT_EQ(ended.generations, 1u) << "a continuation is not a new generation";
    EXPECT_EQ((*ended.result)["planId"].string(), "plan-1") << "the result of the tools stays";
    EXPECT_THAT(stage->recorder.of(Kind::Prompt), SizeIs(1));
    EXPECT_THAT(stage->recorder.of(Kind::TurnEnded), SizeIs(1));
    EXPECT_EQ(narrator->requests[1]["parentPlanId"].string(), "plan-1");
    EXPECT_EQ(narrator->requests[1]["generationAttempt"].integer(), 1);
    EXPECT_EQ(narrator->requests[0]["random"].text(), narrator->requests[1]["random"].text());
}

TEST_F(ContinuedTurn, EndsAfterFourContinuations) {
    answer_with([](const Json& request) {
        const std::string number = request["continuation"].text();
        return R"({"requestId":"p)" + number + R"(","tools":[],"continue":true,"narrative":")" +
               number + "\"}";
    });
    const Ended ended = turn(*stage, "go");
    EXPECT_EQ(ended.outcome, Outcome::Completed);
    EXPECT_EQ(ended.narrative, "0\n\n1\n\n2\n\n3\n\n4");
    EXPECT_THAT(codes(stage->recorder), ElementsAre("CONTINUE_LIMIT"));
}

TEST_F(ContinuedTurn, FailedPlansAreNotContinuedButReplaced) {
    answer_with({looks("fails"), tells("Never mind.")});
    const Ended ended = turn(*stage, "go");
    EXPECT_EQ(ended.generations, 2u);
    EXPECT_EQ(ended.narrative, "You look.\n\nNever mind.");
    EXPECT_EQ(narrator->requests[1]["continuation"].integer(), 0);
}

TEST_F(ContinuedTurn, OthersFollowFailedContinuations) {
    answer_with({looks("eye"), plan_of({entry("b", "fails")}, R"("narrative":"You stumble.")"),
                 tells("You see nothing.")});
    const Ended ended = turn(*stage, "go");
    EXPECT_EQ(ended.outcome, Outcome::Completed);
    EXPECT_EQ(ended.generations, 2u);
    EXPECT_EQ(ended.narrative, "You look.\n\nYou stumble.\n\nYou see nothing.")
        << "all that the player has read";
    EXPECT_FALSE(narrator->requests[2]["previousResult"]["success"].boolean());
}

TEST_F(ContinuedTurn, EndsWithWhatWasToldIfTheNarratorCannotGoOn) {
    answer_with({plan_of({}, R"("choices":["look"])"), looks("eye"), "not a plan"});
    turn(*stage, "begin");
    const Ended ended = turn(*stage, "go");
    EXPECT_EQ(ended.outcome, Outcome::Completed);
    EXPECT_EQ(ended.narrative, "You look.");
    EXPECT_THAT(told(stage->recorder), ElementsAre("You look.")) << "no fallback text";
    EXPECT_EQ(ended.choices.text(), R"(["look"])") << "those of the turn before";
    EXPECT_THAT(codes(stage->recorder), SizeIs(6)) << "each refused plan is reported";
    EXPECT_EQ(codes(stage->recorder).back(), "CONTINUATION_FAILED");
}

TEST_F(ContinuedTurn, IsNotContinuedWhenThePromptsTimeIsUp) {
    narrator.emplace([](const Json&) { return looks("lingers"); });
    SessionOptions options;
    options.narrator = narrator->narrator();
    options.times.emplace();
    options.times->prompt_ms = 2000;
    stage.emplace(EngineOptions{}, options);
    stage->folder.tool("lingers", "echo '" + kDone + "'\ntrap '' TERM\nsleep 2.4");
    const Ended ended = turn(*stage, "go");
    EXPECT_EQ(ended.outcome, Outcome::Completed);
    EXPECT_THAT(narrator->requests, SizeIs(1));
}

TEST_F(ContinuedTurn, ChoicesOfAPlanAreOfferedAfterThoseOfItsTools) {
    answer_with({plan_of({entry("a", "offers")}, R"("choices":["Go on","Wait"])")});
    EXPECT_EQ(turn(*stage, "go").choices, Json(R"(["Wait","Go on"])"));
}

TEST_F(ContinuedTurn, ChoicesOfAFailedPlanAreNotOffered) {
    answer_with({plan_of({entry("a", "fails")}, R"("choices":["Go on"])"), tells("No.")});
    EXPECT_EQ(turn(*stage, "go").choices, Json("[]"));
}

TEST_F(ContinuedTurn, ChoicesOfContinuedPlansStay) {
    answer_with({looks("offers"),
                 plan_of({entry("a", "offers"), entry("b", "fails")}, R"("choices":["No"])"),
                 R"({"requestId":"last","tools":[],"choices":["Go on"]})"});
    EXPECT_EQ(turn(*stage, "go").choices, Json(R"(["Wait","Go on"])"));
    EXPECT_EQ(turn(*stage, "again").choices, Json(R"(["Go on"])"))
        << "those of an earlier turn do not stay";
}

TEST_F(ContinuedTurn, WrongMembersAreFaults) {
    answer_with({R"({"requestId":"p","tools":[],"continue":1,"choices":["a",2]})", tells("Told.")});
    turn(*stage, "go");
    EXPECT_THAT(places(narrator->requests[1]["planFaults"]),
                ElementsAre("/continue plan-field-type", "/choices/1 plan-field-type"));
}

TEST_F(ContinuedTurn, ExecutedPlansOfAHostAreNotContinued) {
    answer_with({tells("asked")});
    EXPECT_TRUE(stage->run(looks("eye"))["success"].boolean());
    EXPECT_THAT(narrator->requests, IsEmpty());
}

}  // namespace
