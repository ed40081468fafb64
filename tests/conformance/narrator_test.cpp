// SPDX-License-Identifier: Apache-2.0
// Spec 003 §13.6 and §14, and the player's prompt of spec 004: from a prompt to a plan and, if it
// fails, to the next plan. Uses a host's narrator and a story's template narrator.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/narrators.hpp"

#include "narratoria/validate.hpp"

namespace {

using namespace narratoria;
using namespace narratoria::test;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Ne;

std::string plan_named(std::string_view request_id, const std::vector<std::string>& tools,
                       std::string_view members = {}) {
    std::string plan = plan_of(tools, members);
    const std::string own = R"("requestId":"plan-1")";
    return plan.replace(plan.find(own), own.size(), R"("requestId":)" + json_text(request_id));
}

// Tool paths in a narrator's plan are relative to the engine's root, which is the stage's folder.
struct NarratorStage : Stage {
    explicit NarratorStage(ScriptedNarrator& scripted)
        : Stage({}, {.narrator = scripted.narrator()}) {
        folder.says("works", {kDone});
        folder.says("fails", {kFailed});
        folder.says("fails-too", {kFailed});
    }
};

// Creates a story with two tools, one of which fails.
std::string story_in(const Folder& folder) {
    folder.write("story/story.toml",
                 "title = \"A cave\"\n[narrator]\nname = \"template\"\n"
                 "[fallback]\ntemplates = [\"The cave is silent: {prompt}\"]\n");
    folder.write("story/prompts.json", R"({"prompts": [
        {"patterns": ["light the {what}"],
         "answers": [
           {"plan": {"narrative": "You try the {what}.",
                     "tools": [{"toolId": "light", "toolPath": "fails", "input": {"what": "{what}"},
                                "retryPolicy": {"maxRetries": 0}}]}},
           {"plan": {"narrative": "You feel your way instead.",
                     "tools": [{"toolId": "feel", "toolPath": "works"}]}}]},
        {"patterns": ["sing"], "answers": [{"narrative": "You sing."}]}],
      "unmatched": {"narrative": "Nothing comes of it."}})");
    folder.says("story/tools/works", {patch(R"({"felt":true})"), kDone});
    folder.says("story/tools/fails", {kFailed});
    return folder / "story";
}

// ---- the narrator's request, spec 004 PlayerPrompt

// covers: 004-prompt-session-id, 004-prompt-timestamp, 004-prompt-generates-plan
TEST(PlayerPrompt, NarratorGetsTextTimestampAndSessionOnce) {
    ScriptedNarrator scripted({tells("You listen.")});
    Stage stage({},
                {.id = "game-7", .state = R"({"room":"hall"})", .narrator = scripted.narrator()});
    const Ended ended = turn(stage, "Ich höre \"zu\"\n");
    EXPECT_EQ(ended.outcome, Outcome::Completed);
    EXPECT_EQ(ended.generations, 1u);
    EXPECT_EQ(ended.narrative, "You listen.");
    ASSERT_EQ(scripted.requests.size(), 1u) << "a successful prompt needs one plan";
    const Json request = scripted.requests[0];
    EXPECT_EQ(request["schema"].string(), "narrator-request/1");
    EXPECT_EQ(request["sessionId"].string(), "game-7");
    EXPECT_EQ(request["prompt"]["text"].string(), "Ich höre \"zu\"\n");
    EXPECT_EQ(request["prompt"]["sessionId"].string(), "game-7");
    EXPECT_THAT(request["prompt"]["timestamp"].string(),
                ::testing::MatchesRegex("20..-..-..T..:..:...*Z"));
    EXPECT_EQ(request["generationAttempt"].integer(), 1);
    EXPECT_TRUE(request["parentPlanId"].is_null());
    EXPECT_TRUE(request["previousResult"].is_null());
    EXPECT_EQ(request["disabledSkills"].size(), 0u);
    EXPECT_EQ(request["planFaults"].size(), 0u);
    EXPECT_EQ(request["state"], Json(R"({"room":"hall"})"));
    EXPECT_EQ(stage.recorder.one(Kind::Prompt).body["text"].string(), "Ich höre \"zu\"\n");
}

// covers: 004-prompt-text
TEST(PlayerPrompt, EmptyPromptIsRefusedWithoutAskingANarrator) {
    ScriptedNarrator scripted({tells("never")});
    NarratorStage stage(scripted);
    try {
        stage.session.prompt("");
        FAIL() << "the empty prompt was accepted";
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), NAR_INVALID_ARGUMENT);
        EXPECT_THAT(std::string(error.message()), HasSubstr("empty"));
    }
    stage.engine.run_until_idle();
    EXPECT_THAT(scripted.requests, IsEmpty());
    EXPECT_THAT(stage.recorder.records, IsEmpty());
}

// ---- invalid answers, §13.3 and §13.4 rule 1

// covers: 003-13.3-plan-document, 003-13.6-returns-plan
TEST(NarratorLoop, InvalidAnswerUsesUpAGenerationAndReportsFaults) {
    ScriptedNarrator scripted(
        {"Once upon a time", R"({"requestId":"r","tools":[{"toolId":"a"}]})", tells("At last.")});
    NarratorStage stage(scripted);
    const Ended ended = turn(stage, "go");
    EXPECT_EQ(ended.outcome, Outcome::Completed);
    EXPECT_EQ(ended.generations, 3u);
    EXPECT_EQ(ended.narrative, "At last.");
    ASSERT_EQ(scripted.requests.size(), 3u);
    EXPECT_EQ(scripted.requests[1]["planFaults"].size(), 1u);
    EXPECT_THAT(places(scripted.requests[2]["planFaults"]),
                ElementsAre("/tools/0/toolPath plan-field-missing"));
    EXPECT_EQ(scripted.requests[2]["generationAttempt"].integer(), 3);
    EXPECT_TRUE(scripted.requests[1]["parentPlanId"].is_null())
        << "the first answer has no requestId";
    EXPECT_EQ(scripted.requests[2]["parentPlanId"].string(), "r")
        << "the refused plan is the parent";
    std::vector<std::string> codes;
    for (const Record& record : stage.recorder.of(Kind::Warning)) {
        codes.push_back(record.body["code"].string());
    }
    EXPECT_THAT(codes, ElementsAre("PLAN_REFUSED", "PLAN_REFUSED"));
}

// covers: 003-13.4.1-reject-and-ask
TEST(NarratorLoop, CyclicPlanIsRefusedAndANewOneRequested) {
    ScriptedNarrator scripted(
        {plan_named("circle", {entry("a", "works", R"("dependencies":["b"])"),
                               entry("b", "works", R"("dependencies":["a"])")}),
         plan_named("line", {entry("a", "works")})});
    NarratorStage stage(scripted);
    const Ended ended = turn(stage, "go");
    EXPECT_EQ(ended.outcome, Outcome::Completed);
    ASSERT_EQ(scripted.requests.size(), 2u);
    const Json fault = scripted.requests[1]["planFaults"][0];
    EXPECT_EQ(fault["rule"].string(), "plan-cycle");
    EXPECT_THAT(fault["message"].string(), HasSubstr("a → b → a"));
    EXPECT_EQ(stage.recorder.one(Kind::PlanStarted).plan_id, "line")
        << "no tool of the first plan ran";
}

// ---- replanning, §13.6

// covers: 003-13.6-parent-plan, 003-13.6-tracks-attempt, 003-13.3-generation-attempt,
// 003-13.3-parent-plan-id, 003-13.5-generation-attempt
TEST(NarratorLoop, RuntimeSetsGenerationAttemptAndParentPlan) {
    ScriptedNarrator scripted(
        {plan_named("one", {entry("a", "fails")}), plan_named("two", {entry("b", "other")}),
         plan_named("three", {entry("c", "works")}, R"("metadata":{"parentPlanId":"two"})")});
    NarratorStage stage(scripted);
    stage.folder.says("other", {kFailed});
    const Ended ended = turn(stage, "go");
    EXPECT_EQ(ended.outcome, Outcome::Completed);
    EXPECT_EQ(ended.generations, 3u);
    EXPECT_EQ((*ended.result)["generationAttempt"].integer(), 3);
    const auto started = stage.recorder.of(Kind::PlanStarted);
    ASSERT_EQ(started.size(), 3u);
    ASSERT_EQ(scripted.requests.size(), 3u);
    const std::string parents[] = {"null", "\"one\"", "\"two\""};
    for (size_t i = 0; i < 3; ++i) {
        for (const Json& each : {scripted.requests[i], started[i].body}) {
            EXPECT_EQ(each["generationAttempt"].integer(), i + 1);
            EXPECT_EQ(each["parentPlanId"].text(), parents[i]);
        }
    }
    const Json previous = scripted.requests[1]["previousResult"];
    EXPECT_EQ(previous["planId"].string(), "one");
    EXPECT_TRUE(previous["canReplan"].boolean());
    EXPECT_EQ(tool_of(previous, "a")["state"].string(), "failed");
    // A loaded machine may cause unrelated warnings, for example about a slow tool.
    for (const auto& warning : stage.recorder.of(Kind::Warning)) {
        EXPECT_THAT(warning.body["code"].string(),
                    AllOf(Ne("GENERATION_ATTEMPT"), Ne("PARENT_PLAN")))
            << warning.text;
    }
}

// covers: 003-13.6-tracks-attempt, 003-13.6-parent-plan
TEST(NarratorLoop, DifferentMetadataIsIgnoredWithAWarning) {
    ScriptedNarrator scripted(
        {plan_named("one", {}, R"("metadata":{"generationAttempt":4,"parentPlanId":"another"})")});
    NarratorStage stage(scripted);
    const Ended ended = turn(stage, "go");
    EXPECT_EQ(ended.outcome, Outcome::Completed);
    EXPECT_EQ((*ended.result)["generationAttempt"].integer(), 1);
    EXPECT_TRUE(stage.recorder.one(Kind::PlanStarted).body["parentPlanId"].is_null());
    std::vector<std::string> codes;
    for (const Record& record : stage.recorder.of(Kind::Warning)) {
        codes.push_back(record.body["code"].string());
    }
    EXPECT_THAT(codes, ElementsAre("GENERATION_ATTEMPT", "PARENT_PLAN"));
}

// covers: 003-13.6-consults-disabled, 003-13.3-disabled-skills
TEST(NarratorLoop, PlanWithAFailedSkillIsRefused) {
    ScriptedNarrator scripted({plan_named("one", {entry("a", "fails")}),
                               plan_named("two", {entry("ok", "works"), entry("again", "./fails")}),
                               plan_named("three", {entry("b", "works")})});
    NarratorStage stage(scripted);
    const Ended ended = turn(stage, "go");
    EXPECT_EQ(ended.outcome, Outcome::Completed);
    ASSERT_EQ(scripted.requests.size(), 3u);
    EXPECT_THAT(scripted.requests[1]["disabledSkills"].strings(), ElementsAre("fails"));
    EXPECT_THAT(places(scripted.requests[2]["planFaults"]),
                ElementsAre("/tools/1/toolPath plan-skill-disabled"));
    EXPECT_THAT(scripted.requests[2]["disabledSkills"].strings(), ElementsAre("fails"));
    EXPECT_EQ(scripted.requests[2]["parentPlanId"].string(), "two")
        << "the refused plan is the parent";
    EXPECT_THAT(stage.recorder.of(Kind::PlanStarted), ::testing::SizeIs(2));
}

TEST(NarratorLoop, NextRequestReportsEachKindOfRefusal) {
    PatientNarrator patient;
    Stage stage({},
                {.state = R"({"room":{"n":null,"l":[1,null]}})", .narrator = patient.narrator()});
    stage.folder.says("fails", {patch(R"({"half":1})"), kFailed});
    patient.on_asked = [&] {
        const NarratorReply& reply = patient.replies.back();
        switch (patient.requests.size()) {
            case 1: reply.plan("Once upon a time"); break;
            case 2:
                reply.plan(plan_named(
                    "two", {entry("a", "fails"), entry("b", "fails", R"("dependencies":["a"])")}));
                break;
            case 3: reply.plan(plan_named("three", {entry("a", "fails")})); break;
            case 4: reply.fail("no idea"); break;
            default: reply.plan(tells("Enough."));
        }
    };
    EXPECT_EQ(turn(stage, "go „dort“ hin").generations, 5u);
    ASSERT_EQ(patient.requests.size(), 5u);
    EXPECT_EQ(patient.requests[1]["planFaults"][0]["pointer"].string(), "");
    EXPECT_EQ(patient.requests[2]["planFaults"].size(), 0u) << "that plan was executed and failed";
    EXPECT_EQ(patient.requests[2]["previousResult"]["planId"].string(), "two");
    EXPECT_EQ(patient.requests[3]["planFaults"][0]["rule"].string(), "plan-skill-disabled");
    EXPECT_EQ(patient.requests[4]["planFaults"][0]["rule"].string(), "narrator-failed");
    EXPECT_EQ(patient.requests[4]["previousResult"]["planId"].string(), "two")
        << "the last plan that ran";

    // test_documents.py validates these requests against the schema.
    if (const char* file = std::getenv("NARRATORIA_KEEP_REQUESTS")) {
        std::ofstream kept(file);
        for (const Json& request : patient.requests) kept << request.text() << '\n';
    }
}

// covers: 003-13.6-five-generations, 003-13.6-fallback, 004-prompt-generates-plan
TEST(NarratorLoop, NarratorIsNeverAskedASixthTime) {
    int number = 0;
    ScriptedNarrator scripted([&](const Json&) {
        const std::string skill = "missing-" + std::to_string(++number);
        return plan_named("plan " + std::to_string(number), {entry("a", skill)});
    });
    NarratorStage stage(scripted);
    const Ended ended = turn(stage, "go");
    EXPECT_EQ(ended.outcome, Outcome::Fallback);
    EXPECT_EQ(ended.generations, 5u);
    EXPECT_EQ(scripted.requests.size(), 5u);
    EXPECT_EQ((*ended.result)["generationAttempt"].integer(), 5);
    EXPECT_FALSE((*ended.result)["canReplan"].boolean());
    EXPECT_THAT((*ended.result)["disabledSkills"].strings(),
                ElementsAre("missing-1", "missing-2", "missing-3", "missing-4", "missing-5"));
    EXPECT_NE(ended.narrative, "");
    const Record told = stage.recorder.one(Kind::Narrative);
    EXPECT_EQ(told.body["source"].string(), "fallback");
    EXPECT_EQ(told.body["text"].string(), ended.narrative);

    // The session continues, and failed skills stay disabled only until the prompt ends.
    scripted.requests.clear();
    const Ended next = turn(stage, "again");
    EXPECT_EQ(next.generations, 5u);
    EXPECT_EQ(scripted.requests[0]["disabledSkills"].size(), 0u);
    EXPECT_EQ(scripted.requests[0]["generationAttempt"].integer(), 1);
    EXPECT_TRUE(scripted.requests[0]["previousResult"].is_null());
}

// covers: 003-13.4.6-execution-limit
TEST(NarratorLoop, OnePlanIsExecutedAtMostThreeTimesPerPrompt) {
    // The failing skill differs each time; only the requestId stays the same.
    int number = 0;
    ScriptedNarrator scripted([&](const Json&) {
        return plan_named("the same", {entry("a", "missing-" + std::to_string(++number))});
    });
    NarratorStage stage(scripted);
    const Ended ended = turn(stage, "go");
    EXPECT_EQ(ended.outcome, Outcome::Fallback);
    EXPECT_THAT(stage.recorder.of(Kind::PlanStarted), ::testing::SizeIs(3));
    ASSERT_EQ(scripted.requests.size(), 5u);
    EXPECT_THAT(places(scripted.requests[4]["planFaults"]),
                ElementsAre("/requestId plan-execution-limit"));

    // Plans of the host are not counted.
    for (int i = 0; i < 5; ++i) {
        EXPECT_TRUE(stage.run(plan_named("the same", {entry("a", "works")}))["success"].boolean());
    }
}

// ---- §14: the template narrator and its replacements

// covers: 003-14.1-narrator-stub, 003-13.6-returns-plan, 003-13.3-plan-document
TEST(TemplateNarrator, TurnsPromptsIntoPlansByPatterns) {
    Folder folder;
    const std::string story = story_in(folder);
    Stage stage({}, {.story = story});
    EXPECT_EQ(turn(stage, "Sing!").narrative, "You sing.");
    EXPECT_EQ(turn(stage, "fly to the moon").narrative, "Nothing comes of it.");
    stage.recorder.records.clear();
    const Ended ended = turn(stage, "Light the lamp");
    EXPECT_EQ(ended.outcome, Outcome::Completed);
    const auto started = stage.recorder.of(Kind::PlanStarted);
    ASSERT_EQ(started.size(), 2u);
    EXPECT_EQ(started[0].body["plan"]["tools"][0]["input"]["what"].string(), "lamp");
    EXPECT_NE(started[0].plan_id, started[1].plan_id);
    for (const Record& record : started) {
        EXPECT_EQ(validate(Document::Plan, record.body["plan"].text()).view(), "[]");
    }
}

// covers: 003-13.6-consults-disabled, 003-13.3-disabled-skills, 003-14.3-replan
TEST(TemplateNarrator, UsesAnotherAnswerAfterASkillFailed) {
    Folder folder;
    const std::string story = story_in(folder);
    Stage stage({}, {.story = story});
    const Ended ended = turn(stage, "light the torch");
    EXPECT_EQ(ended.outcome, Outcome::Completed);
    EXPECT_EQ(ended.generations, 2u);
    EXPECT_EQ(ended.narrative, "You try the torch.\n\nYou feel your way instead.");
    EXPECT_EQ(stage.state(), Json(R"({"felt":true})"));
    const auto started = stage.recorder.of(Kind::PlanStarted);
    ASSERT_EQ(started.size(), 2u);
    EXPECT_EQ(started[1].body["parentPlanId"].string(), started[0].plan_id);
    EXPECT_THAT((*ended.result)["disabledSkills"].strings(), ElementsAre("fails"));
    EXPECT_EQ(turn(stage, "light the torch").generations, 2u)
        << "the next prompt tries the skill again";
}

// covers: 003-14.1-replaceable-narrator
TEST(TemplateNarrator, CanBeReplacedByAHostNarrator) {
    Folder folder;
    const std::string story = story_in(folder);
    // The story's own plan, from a host's narrator.
    ScriptedNarrator scripted({plan_named("hosts", {entry("feel", "works")})});
    Stage stage({}, {.story = story, .narrator = scripted.narrator()});
    const Ended ended = turn(stage, "light the torch");
    EXPECT_EQ(ended.outcome, Outcome::Completed);
    EXPECT_EQ((*ended.result)["planId"].string(), "hosts");
    EXPECT_EQ(stage.state(), Json(R"({"felt":true})"));
    ASSERT_EQ(scripted.requests.size(), 1u);
    std::vector<std::string> names;
    for (const Json& tool : scripted.requests[0]["tools"].elements()) {
        names.push_back(tool["name"].string());
    }
    EXPECT_THAT(names, ElementsAre("fails", "works")) << "the request lists the story's tools";
}

// covers: 003-13.6-fallback
TEST(TemplateNarrator, FallbackIsTheStorysTemplate) {
    Folder folder;
    const std::string story = story_in(folder);
    ScriptedNarrator scripted({"no plan"});
    Stage stage({}, {.story = story, .narrator = scripted.narrator()});
    const Ended ended = turn(stage, "light the torch");
    EXPECT_EQ(ended.outcome, Outcome::Fallback);
    EXPECT_EQ(ended.narrative, "The cave is silent: light the torch");
    EXPECT_FALSE(ended.result) << "no plan has run";
}

// covers: 000-4.4-choice-next-prompt, 000-4.4-narrative-choice
TEST(NarratorLoop, ChoicesComeWithTheTurnAndCanBePrompts) {
    ScriptedNarrator scripted([](const Json& request) {
        return request["prompt"]["text"].string() == "Open"
                   ? tells("It opens.")
                   : plan_named("door", {entry("a", "asks")});
    });
    NarratorStage stage(scripted);
    stage.folder.says(
        "asks",
        {event("ui_event", R"("event":"narrative_choice","payload":{"choices":["Knock"]})"),
         event("ui_event", R"("event":"narrative_choice","payload":{"choices":["Open", "Leave"]})"),
         event("ui_event", R"("event":"narrative_choice","payload":{"choices":"none"})"), kDone});
    const Ended ended = turn(stage, "examine the door");
    EXPECT_THAT(ended.choices.strings(), ElementsAre("Knock", "Open", "Leave"));
    const Ended next = turn(stage, ended.choices[1].string());
    EXPECT_EQ(next.narrative, "It opens.");
    EXPECT_EQ(next.choices.size(), 0u) << "old choices are not offered again";
}

}  // namespace
