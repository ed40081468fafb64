// SPDX-License-Identifier: Apache-2.0
// What a narrator gets that plans like a language model (NAR_NARRATOR_DETAILED), and what it reports
// about its replies.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/narrators.hpp"
#include "narratoria/tools.hpp"

namespace {

using namespace narratoria;
using namespace narratoria::test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class NarratorDetails : public ::testing::Test {
protected:
    NarratorDetails()
        : narrator([this](const Json& request) {
              const auto plan = plans.find(request["prompt"]["text"].string());
              return plan == plans.end() ? tells("Nothing.") : plan->second;
          }) {
        folder.says("roll", {event("done", R"("ok":true,"summary":"A four.")")});
        folder.says("fails", {kFailed});
    }
    void open(bool is_detailed = true, SessionOptions options = {}) {
        stage.reset();
        options.narrator = narrator.narrator();
        options.narrator->is_detailed = is_detailed;
        stage.emplace(EngineOptions{}, options);
    }
    void open_stored() { open(true, {.id = "s", .store = folder / "saves.db"}); }
    // The prompts and narratives of the turns in the last request.
    std::vector<std::string> turns() const {
        std::vector<std::string> out;
        for (const Json& turn : narrator.requests.back()["turns"].elements()) {
            out.push_back(turn["prompt"].string() + ": " + turn["narrative"].string());
        }
        return out;
    }

    // The member "mood" of `turnMetadata` in the last request.
    std::string noted() const {
        const Json& metadata = narrator.requests.back()["turnMetadata"];
        return metadata.has("mood") ? metadata["mood"].string() : "";
    }

    Folder folder;
    std::map<std::string, std::string> plans;
    ScriptedNarrator narrator;
    std::optional<Stage> stage;
};

// ---- the request

TEST_F(NarratorDetails, AreOnlyInDetailedRequests) {
    open(false);
    turn(*stage, "look");
    EXPECT_FALSE(narrator.requests.back().has("turns"));
    EXPECT_FALSE(narrator.requests.back().has("turnMetadata"));
    EXPECT_FALSE(narrator.requests.back().has("stateForPrompt"));
    open();
    turn(*stage, "look");
    EXPECT_TRUE(narrator.requests.back().has("turns"));
    EXPECT_TRUE(narrator.requests.back().has("stateForPrompt"));
}

TEST_F(NarratorDetails, TurnsHaveWhatTheirToolsSaid) {
    plans["roll"] = plan_of({entry("r", folder / "roll")},
                            R"("narrative":"The die rolls.","choices":["Again"])");
    plans["fail"] = plan_of({entry("f", folder / "fails")});
    open();
    turn(*stage, "roll");
    turn(*stage, "fail");  // ends in the fallback
    turn(*stage, "look");
    const Json& turns = narrator.requests.back()["turns"];
    ASSERT_EQ(turns.elements().size(), 2u);
    EXPECT_EQ(turns[0], Json(R"({"prompt":"roll","narrative":"The die rolls.","choices":["Again"],
                                 "tools":[{"tool":"r","ok":true,"summary":"A four."}]})"));
    EXPECT_THAT(turns[1]["narrative"].string(), HasSubstr("Nothing comes of it"));
    EXPECT_EQ(turns[1]["tools"][0]["tool"].string(), "f");
    EXPECT_FALSE(turns[1]["tools"][0]["ok"].boolean());
}

TEST_F(NarratorDetails, ToolThatFailedInThePromptIsMarked) {
    plans["fail"] = R"({"requestId":"p","tools":[{"toolId":"f","toolPath":"fails","input":{}}]})";
    open();
    stage->session.tools().add({.name = "fails"},
                               [](const plugin::InvocationRequest&, const plugin::Invocation& its) {
                                   its.ended({.exit_status = 1});
                               });
    turn(*stage, "fail");
    EXPECT_TRUE(narrator.requests.back()["tools"][0]["disabled"].boolean());
}

TEST_F(NarratorDetails, TurnsAreTheLastTwenty) {
    open();
    for (int i = 0; i < 22; ++i) turn(*stage, "look " + std::to_string(i));
    EXPECT_EQ(turns().size(), 20u);
    EXPECT_EQ(turns().front(), "look 1: Nothing.");
    EXPECT_EQ(turns().back(), "look 20: Nothing.");
}

TEST_F(NarratorDetails, TurnsHaveABoundInBytes) {
    open();
    turn(*stage, "short");
    turn(*stage, std::string(40'000, 'a'));
    turn(*stage, std::string(70'000, 'b'));
    turn(*stage, "look");
    EXPECT_EQ(turns().size(), 1u) << "the last turn is kept, however long it is";
}

TEST_F(NarratorDetails, TurnsOfAStoredGameFollowItsBranch) {
    open_stored();
    for (const char* prompt : {"a", "b", "c"}) turn(*stage, prompt);
    stage->session.go_to(1);
    turn(*stage, "d");
    EXPECT_THAT(turns(), ElementsAre("a: Nothing."));
    open_stored();
    turn(*stage, "e");
    EXPECT_THAT(turns(), ElementsAre("a: Nothing.", "d: Nothing."));
    stage->session.go_to(NAR_TURN_BEGINNING);
    turn(*stage, "f");
    EXPECT_THAT(turns(), IsEmpty());
}

TEST_F(NarratorDetails, MetadataOfAPlanComesBackWithTheNextPrompt) {
    plans["note"] = plan_of({}, R"("narrative":"Noted.","metadata":{"mood":"dark"})");
    plans["refused"] = R"({"tools":5})";
    open();
    turn(*stage, "note");
    EXPECT_EQ(noted(), "") << "of the turns before";
    turn(*stage, "refused");
    EXPECT_EQ(noted(), "dark");
    turn(*stage, "look");
    EXPECT_EQ(noted(), "dark") << "a turn without a plan does not replace it";
    turn(*stage, "look");
    EXPECT_EQ(noted(), "") << "a plan without a note does";
}

TEST_F(NarratorDetails, MetadataOfAStoredGameFollowsItsBranch) {
    for (const char* mood : {"a", "b", "c"}) {
        plans[mood] =
            plan_of({}, R"("narrative":".","metadata":{"mood":")" + std::string(mood) + "\"}");
    }
    open_stored();
    for (const char* prompt : {"a", "b", "c"}) turn(*stage, prompt);
    stage->session.go_to(2);
    turn(*stage, "a");
    EXPECT_EQ(noted(), "b");
    open_stored();
    turn(*stage, "look");
    EXPECT_EQ(noted(), "a");
    stage->session.go_to(NAR_TURN_BEGINNING);
    turn(*stage, "look");
    EXPECT_EQ(noted(), "");
}

TEST_F(NarratorDetails, PromptsThatNeverBeganAreNotTurns) {
    open_stored();
    stage->session.prompt("a");
    stage->session.cancel();
    stage->engine.run_until_idle();
    turn(*stage, "b");
    EXPECT_THAT(turns(), IsEmpty());
    open_stored();
    turn(*stage, "c");
    EXPECT_THAT(turns(), ElementsAre("b: Nothing."));
}

TEST_F(NarratorDetails, StateIsTextWithItsDescriptions) {
    open();
    stage->session.set_state("gold", "5", {"coins of the player"});
    turn(*stage, "look");
    EXPECT_EQ(narrator.requests.back()["stateForPrompt"].string(), "gold: 5 (coins of the player)");
}

// ---- usage

TEST_F(NarratorDetails, UsageIsInTheStreamAndSummedInTheTurn) {
    PatientNarrator patient;
    stage.emplace(EngineOptions{}, SessionOptions{.narrator = patient.narrator()});
    patient.on_asked = [&] {
        const NarratorReply& reply = patient.replies.back();
        reply.usage(R"({"model":"small","inputTokens":900,"outputTokens":100,"cachedTokens":850,
                        "firstMs":300,"totalMs":2000,"cost":0.25,"currency":"EUR"})");
        if (patient.replies.size() == 1) reply.fail("it broke");
        else reply.plan(tells("There."));
    };
    std::string usage;
    stage->session.prompt("go", [&](Turn turn) { usage = turn.usage(); });
    stage->engine.run_until_idle();
    EXPECT_EQ(Json(usage), Json(R"({"reports":2,"inputTokens":1800,"outputTokens":200,
                                    "cachedTokens":1700,"cost":0.5,"currency":"EUR"})"));
    ASSERT_EQ(stage->recorder.of(Kind::NarratorUsage).size(), 2u);
    EXPECT_EQ(stage->recorder.of(Kind::NarratorUsage)[0].body["model"].string(), "small");
    EXPECT_EQ(stage->recorder.records.back().body["usage"], Json(usage));
}

TEST_F(NarratorDetails, CostsInDifferentCurrenciesHaveNoSum) {
    PatientNarrator patient;
    stage.emplace(EngineOptions{}, SessionOptions{.narrator = patient.narrator()});
    patient.on_asked = [&] {
        const NarratorReply& reply = patient.replies.back();
        reply.usage(R"({"outputTokens":1,"cost":0.25,"currency":"EUR"})");
        reply.usage(R"({"outputTokens":1,"cost":0.25,"currency":"USD"})");
        reply.plan(tells("There."));
    };
    std::string usage;
    stage->session.prompt("go", [&](Turn turn) { usage = turn.usage(); });
    stage->engine.run_until_idle();
    EXPECT_EQ(Json(usage)["outputTokens"].integer(), 2);
    EXPECT_FALSE(Json(usage).has("cost"));
}

TEST_F(NarratorDetails, TurnWithoutReportsHasNoUsage) {
    open();
    std::string usage = "none";
    stage->session.prompt("go", [&](Turn turn) { usage = turn.usage(); });
    stage->engine.run_until_idle();
    EXPECT_EQ(usage, "");
    EXPECT_FALSE(stage->recorder.records.back().body.has("usage"));
}

TEST_F(NarratorDetails, WrongUsageIsRefusedWithTheReason) {
    PatientNarrator patient;
    stage.emplace(EngineOptions{}, SessionOptions{.narrator = patient.narrator()});
    std::map<std::string, std::string> reasons;
    patient.on_asked = [&] {
        for (const char* report :
             {"{", "[]", R"({"inputToken":1})", R"({"outputTokens":-1})", R"({"model":""})",
              R"({"cost":1})", R"({"cost":"1","currency":"EUR"})"}) {
            try {
                patient.replies.back().usage(report);
            } catch (const Error& error) {
                EXPECT_EQ(error.status(), NAR_INVALID_DOCUMENT);
                reasons[report] = error.what();
            }
        }
        patient.replies.back().plan(tells("There."));
    };
    stage->session.prompt("go");
    stage->engine.run_until_idle();
    EXPECT_EQ(reasons.size(), 7u);
    EXPECT_THAT(reasons[R"({"inputToken":1})"], HasSubstr("did you mean \"inputTokens\"?"));
    EXPECT_THAT(reasons[R"({"outputTokens":-1})"],
                HasSubstr("\"outputTokens\" must be a whole number from 0"));
    EXPECT_THAT(reasons[R"({"cost":1})"], HasSubstr("\"cost\" and \"currency\" belong together"));
    EXPECT_THAT(stage->recorder.of(Kind::NarratorUsage), IsEmpty());
}

}  // namespace
