// SPDX-License-Identifier: Apache-2.0
// Turns with a host's narrator: late and duplicate answers, answers from threads, waiting prompts,
// cancellation and timeouts.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "conformance/narrators.hpp"

namespace {

using namespace narratoria;
using namespace narratoria::test;
using namespace std::string_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Times times_of(uint32_t narrator_ms, uint32_t prompt_ms = 0) {
    Times times;
    times.narrator_ms = narrator_ms;
    times.prompt_ms = prompt_ms;
    return times;
}

std::string plan_named(std::string_view request_id, const std::vector<std::string>& tools) {
    std::string plan = plan_of(tools);
    const std::string own = R"("requestId":"plan-1")";
    return plan.replace(plan.find(own), own.size(), R"("requestId":)" + json_text(request_id));
}

// Drives the engine until `condition` holds. The deadline is generous for a loaded machine; an
// engine that becomes idle first is a failure.
template <typename Condition>
void drive_until(Engine& engine, Condition condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(300);
    while (!condition()) {
        ASSERT_LT(std::chrono::steady_clock::now(), deadline);
        ASSERT_TRUE(engine.is_busy()) << "the engine became idle before the condition held";
        engine.run_once();
    }
}

// The C call's status, which the wrapper reduces to true or false.
nar_status reply_to(Engine& engine, uint64_t token, std::string_view plan) {
    return nar_narrator_reply(engine.raw(), token, {plan.data(), plan.size()}, nullptr);
}

class SessionTurn : public ::testing::Test {
protected:
    void set_up(std::optional<Times> times = {}) {
        SessionOptions options;
        options.narrator = narrator.narrator();
        options.times = times;
        stage.emplace(EngineOptions{}, options);
        stage->folder.says("works", {kDone});
        stage->folder.says("fails", {kFailed});
        never = stage->folder.fifo("never");
        stage->folder.tool("hangs", "echo '" + log("waiting") + "'\nread -r never < never");
    }
    void prompt(std::string_view words, std::optional<Ended>& ended) {
        stage->session.prompt(words, keep(ended));
    }
    // Drives until the narrator has been asked `times` times.
    void asked(size_t times) {
        drive_until(stage->engine, [&] { return narrator.requests.size() == times; });
    }
    const Json& request() const { return narrator.requests.back(); }
    const NarratorReply& reply() const { return narrator.replies.back(); }

    PatientNarrator narrator;
    std::optional<Stage> stage;
    std::string never;
    std::optional<Ended> first, second, third;
};

// ---- answers

TEST_F(SessionTurn, AnswerMayComeLater) {
    set_up();
    prompt("go", first);
    EXPECT_THAT(narrator.requests, IsEmpty()) << "no narrator is asked within the submitting call";
    asked(1);
    EXPECT_TRUE(stage->engine.is_busy());
    EXPECT_FALSE(first);
    EXPECT_TRUE(reply().plan(tells("There.")));
    stage->engine.run_until_idle();
    ASSERT_TRUE(first);
    EXPECT_EQ(first->narrative, "There.");
    EXPECT_THAT(narrator.cancelled, IsEmpty());
}

TEST_F(SessionTurn, FirstAnswerWinsAndSecondIsStale) {
    set_up();
    prompt("go", first);
    asked(1);
    EXPECT_TRUE(reply().plan(plan_named("first", {entry("a", "hangs")})));
    EXPECT_FALSE(reply().plan(tells("second")));
    EXPECT_EQ(reply_to(stage->engine, reply().token(), "{}"), NAR_STALE);
    drive_until(stage->engine, [&] { return !stage->recorder.of(Kind::ToolStarted).empty(); });
    EXPECT_EQ(reply_to(stage->engine, reply().token(), "{}"), NAR_STALE)
        << "also stale while the plan runs";
    stage->session.cancel();
    stage->engine.run_until_idle();
    EXPECT_EQ(reply_to(stage->engine, reply().token(), "{}"), NAR_GONE)
        << "gone when the turn is over";
    EXPECT_EQ((*first->result)["planId"].string(), "first");
}

TEST_F(SessionTurn, UnknownTokenIsGone) {
    set_up();
    EXPECT_EQ(reply_to(stage->engine, 0, "{}"), NAR_GONE);
    EXPECT_EQ(reply_to(stage->engine, 12345, "{}"), NAR_GONE);
    EXPECT_EQ(nar_narrator_fail(stage->engine.raw(), 12345, NAR_STR("no"), nullptr), NAR_GONE);
    EXPECT_FALSE(stage->engine.is_busy());
}

TEST_F(SessionTurn, AnswersMayComeFromOtherThreads) {
    set_up();
    std::vector<std::thread> threads;
    narrator.on_asked = [&] {
        const NarratorReply to = reply();
        // Several threads answer at once; one wins.
        for (int i = 0; i < 4; ++i) {
            threads.emplace_back([to, i] { to.plan(tells("from thread " + std::to_string(i))); });
        }
    };
    prompt("go", first);
    stage->engine.run_until_idle();
    for (std::thread& thread : threads) thread.join();
    ASSERT_TRUE(first);
    EXPECT_EQ(first->outcome, Outcome::Completed);
    EXPECT_THAT(first->narrative, HasSubstr("from thread"));
    EXPECT_EQ(first->generations, 1u);
}

TEST_F(SessionTurn, FailingNarratorUsesUpAGeneration) {
    set_up();
    narrator.on_asked = [&] {
        EXPECT_TRUE(reply().fail("the model is not loaded"));
        EXPECT_FALSE(reply().fail("again"));
    };
    prompt("go", first);
    stage->engine.run_until_idle();
    ASSERT_TRUE(first);
    EXPECT_EQ(first->outcome, Outcome::Fallback);
    EXPECT_EQ(first->generations, 5u);
    EXPECT_EQ(narrator.requests.size(), 5u);
    const Json fault = request()["planFaults"][0];
    EXPECT_EQ(fault["rule"].string(), "narrator-failed");
    EXPECT_THAT(fault["message"].string(), HasSubstr("the model is not loaded"));
    EXPECT_NE(first->narrative, "") << "the fallback has a narrative even without a story";
    EXPECT_EQ(stage->recorder.one(Kind::TurnEnded).text,
              R"({"outcome":"fallback","generations":5,"choices":[]})");
}

TEST_F(SessionTurn, LateAnswerUsesUpAGenerationAndIsGone) {
    set_up(times_of(40));
    prompt("go", first);
    asked(1);
    const NarratorReply late = reply();
    asked(2);
    EXPECT_THAT(narrator.cancelled, ElementsAre(late.token())) << "the late narrator is notified";
    EXPECT_EQ(reply_to(stage->engine, late.token(), tells("late")), NAR_GONE);
    EXPECT_EQ(request()["planFaults"][0]["rule"].string(), "narrator-time");
    EXPECT_THAT(request()["planFaults"][0]["message"].string(), HasSubstr("40 ms"));
    EXPECT_EQ(request()["generationAttempt"].integer(), 2);
    EXPECT_TRUE(reply().plan(tells("in time")));
    stage->engine.run_until_idle();
    EXPECT_EQ(first->narrative, "in time");
}

TEST_F(SessionTurn, SilentNarratorEndsInTheFallback) {
    set_up(times_of(15));
    prompt("go", first);
    stage->engine.run_until_idle();
    ASSERT_TRUE(first);
    EXPECT_EQ(first->outcome, Outcome::Fallback);
    EXPECT_EQ(narrator.cancelled.size(), 5u);
    EXPECT_FALSE(first->result);
}

TEST_F(SessionTurn, AnswerStopsTheNarratorTimeout) {
    set_up(times_of(60));
    narrator.on_asked = [&] { reply().plan(plan_named("slow", {entry("a", "slow")})); };
    stage->folder.fifo("go");
    stage->folder.tool("slow",
                       "echo '" + log("waiting") + "'\nread -r go < go\necho '" + kDone + "'");
    prompt("go", first);
    drive_until(stage->engine, [&] { return !stage->recorder.of(Kind::ToolEvent).empty(); });
    // Longer than the narrator's timeout.
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(120);
    while (std::chrono::steady_clock::now() < until)
        stage->engine.run_for(std::chrono::milliseconds(1));
    std::ofstream(stage->folder / "go") << "go\n";
    stage->engine.run_until_idle();
    EXPECT_EQ(first->outcome, Outcome::Completed);
    EXPECT_EQ(first->generations, 1u);
    EXPECT_THAT(narrator.cancelled, IsEmpty());
}

TEST_F(SessionTurn, FaultsOfARefusedPlanHavePositions) {
    set_up();
    prompt("go", first);
    asked(1);
    reply().plan(plan_named("one", {entry("a", "fails")}));
    asked(2);
    reply().plan(
        "{\"requestId\":\"two\",\n \"tools\":[\n  {\"toolId\":\"b\",\"toolPath\":\"fails\"}]}");
    asked(3);
    const Json fault = request()["planFaults"][0];
    EXPECT_EQ(fault["pointer"].string(), "/tools/0/toolPath");
    EXPECT_EQ(fault["rule"].string(), "plan-skill-disabled");
    EXPECT_EQ(fault["line"].integer(), 3);
    EXPECT_EQ(fault["column"].integer(), 28);
    reply().plan("\xFF");
    asked(4);
    EXPECT_EQ(request()["planFaults"][0]["rule"].string(), "json-utf8");
    EXPECT_THAT(request()["disabledSkills"].strings(), ElementsAre("fails"));
    EXPECT_EQ(request()["parentPlanId"].string(), "two") << "the refused plan is the parent";
    reply().plan("");
    asked(5);
    EXPECT_EQ(request()["planFaults"][0]["rule"].string(), "json-empty");
    reply().plan(plan_named("five", {entry("a", "works")}));
    stage->engine.run_until_idle();
    EXPECT_EQ(first->outcome, Outcome::Completed);
    EXPECT_EQ(first->generations, 5u);
    EXPECT_EQ((*first->result)["generationAttempt"].integer(), 5);
}

TEST_F(SessionTurn, DisabledSkillsOfPlanAndRuntimeAreMerged) {
    set_up();
    prompt("go", first);
    asked(1);
    std::string plan = plan_named("one", {entry("a", "fails")});
    plan.insert(1, R"("disabledSkills":["old","old"],)");
    reply().plan(plan);
    asked(2);
    EXPECT_THAT(request()["disabledSkills"].strings(), ElementsAre("old", "fails"));
    reply().plan(plan_named("two", {entry("a", "old")}));
    asked(3);
    EXPECT_THAT(places(request()["planFaults"]),
                ElementsAre("/tools/0/toolPath plan-skill-disabled"));
    reply().plan(tells("enough"));
    stage->engine.run_until_idle();
    EXPECT_EQ(first->narrative, "enough");
}

TEST_F(SessionTurn, RequestHasTheCurrentState) {
    set_up();
    stage->folder.says("lights", {patch(R"({"lit":true})"), kFailed});
    prompt("go", first);
    asked(1);
    EXPECT_EQ(request()["state"], Json("{}"));
    stage->session.patch_state(R"({"mine":1})");
    reply().plan(plan_named("one", {entry("a", "lights")}));
    asked(2);
    EXPECT_EQ(request()["state"], Json(R"({"lit":true,"mine":1})"));
    reply().plan(tells("done"));
    stage->engine.run_until_idle();
}

// ---- one turn at a time

TEST_F(SessionTurn, OnePromptMayWaitAndTheNextIsBusy) {
    set_up();
    prompt("one", first);
    prompt("two", second);
    const auto third_prompt = [&] {
        try {
            prompt("three", third);
            return NAR_OK + 0;
        } catch (const Error& error) {
            return error.status() + 0;
        }
    };
    EXPECT_EQ(third_prompt(), NAR_BUSY);
    asked(1);
    EXPECT_EQ(third_prompt(), NAR_BUSY);
    EXPECT_EQ(request()["prompt"]["text"].string(), "one");
    reply().plan(tells("one", "p1"));
    asked(2);
    EXPECT_TRUE(first);
    EXPECT_EQ(request()["prompt"]["text"].string(), "two");
    EXPECT_EQ(third_prompt(), NAR_OK) << "the first prompt has ended";
    reply().plan(tells("two", "p2"));
    asked(3);
    reply().plan(tells("three", "p3"));
    stage->engine.run_until_idle();
    EXPECT_EQ(second->narrative, "two");
    EXPECT_EQ(third->narrative, "three");
}

TEST_F(SessionTurn, PlansAndPromptsRunInTheOrderOfSubmission) {
    set_up();
    narrator.on_asked = [&] { reply().plan(plan_named("prompted", {entry("a", "works")})); };
    std::vector<std::string> order;
    for (const char* id : {"p1", "p2"}) {
        stage->session.execute(plan_named(id, {entry("a", "works")}), stage->folder.path(),
                               [&order, id](Result) { order.push_back(id); });
    }
    stage->session.prompt("go", [&](Turn) { order.push_back("prompt"); });
    stage->session.execute(plan_named("p3", {}), "", [&](Result) { order.push_back("p3"); });
    stage->engine.run_until_idle();
    EXPECT_THAT(order, ElementsAre("p1", "p2", "prompt", "p3"));
    std::vector<std::string> started;
    for (const Record& record : stage->recorder.of(Kind::PlanStarted))
        started.push_back(record.plan_id);
    EXPECT_THAT(started, ElementsAre("p1", "p2", "prompted", "p3"));
}

TEST_F(SessionTurn, NextPromptMayBeSubmittedInTheTurnHandler) {
    set_up();
    narrator.on_asked = [&] { reply().plan(tells("…")); };
    int turns = 0;
    std::function<void(Turn)> again = [&](Turn) {
        if (++turns < 50) stage->session.prompt("again", again);
    };
    stage->session.prompt("go", again);
    stage->engine.run_until_idle();
    EXPECT_EQ(turns, 50);
}

// ---- cancelling

TEST_F(SessionTurn, CancelEndsANarratorsQuestion) {
    set_up();
    prompt("go", first);
    prompt("waits", second);
    asked(1);
    stage->session.cancel();
    EXPECT_FALSE(first) << "handlers run only in a driving call";
    stage->engine.run_until_idle();
    ASSERT_TRUE(first);
    ASSERT_TRUE(second);
    EXPECT_EQ(first->outcome, Outcome::Cancelled);
    EXPECT_EQ(first->generations, 1u);
    EXPECT_EQ(second->outcome, Outcome::Cancelled) << "the waiting prompt is dropped";
    EXPECT_EQ(narrator.requests.size(), 1u);
    EXPECT_THAT(narrator.cancelled, ElementsAre(reply().token()));
    EXPECT_EQ(reply_to(stage->engine, reply().token(), tells("late")), NAR_GONE);

    prompt("after", third);
    asked(2);
    EXPECT_TRUE(reply().plan(tells("goes on")));
    stage->engine.run_until_idle();
    EXPECT_EQ(third->outcome, Outcome::Completed);
}

TEST_F(SessionTurn, CancelEndsARunningTool) {
    set_up();
    narrator.on_asked = [&] { reply().plan(plan_named("one", {entry("a", "hangs")})); };
    prompt("go", first);
    drive_until(stage->engine, [&] { return !stage->recorder.of(Kind::ToolEvent).empty(); });
    std::thread([&] { stage->session.cancel(); }).join();
    stage->engine.run_until_idle();
    ASSERT_TRUE(first);
    EXPECT_EQ(first->outcome, Outcome::Cancelled);
    EXPECT_EQ(narrator.requests.size(), 1u) << "a cancelled plan is not replanned";
    EXPECT_EQ(tool_of(*first->result, "a")["errorCode"].string(), "CANCELLED");
    EXPECT_FALSE((*first->result)["canReplan"].boolean());
}

// ---- the turn's end in the stream

TEST_F(SessionTurn, EndIsInTheStreamWithOutcomeAndChoices) {
    set_up();
    stage->folder.says(
        "asks",
        {event("ui_event", R"("event":"narrative_choice","payload":{"choices":["Open","Leave"]})"),
         kDone});
    narrator.on_asked = [&] { reply().plan(plan_named("one", {entry("a", "asks")})); };
    prompt("go", first);
    stage->engine.run_until_idle();
    const Record end = stage->recorder.one(Kind::TurnEnded);
    EXPECT_EQ(end.text, R"({"outcome":"completed","generations":1,"choices":["Open","Leave"]})");
    EXPECT_EQ(end.seq, stage->recorder.records.back().seq);
    EXPECT_THAT(end.plan_id, IsEmpty());
}

TEST_F(SessionTurn, TurnThatDoesNotSucceedOffersTheChoicesBeforeIt) {
    set_up();
    const auto choices_after = [&](std::function<void()> answer) {
        narrator.on_asked = std::move(answer);
        first.reset();
        prompt("go", first);
        stage->engine.run_until_idle();
        EXPECT_EQ(stage->recorder.of(Kind::TurnEnded).back().body["choices"], first->choices);
        return first->choices.text();
    };
    const auto fails = [&] { reply().fail("no plan"); };
    const auto offers = [&] {
        reply().plan(R"({"requestId":"one","tools":[],"choices":["Open","Leave"]})");
    };
    EXPECT_EQ(choices_after(fails), "[]");
    EXPECT_EQ(choices_after(offers), R"(["Open","Leave"])");
    EXPECT_EQ(choices_after(fails), R"(["Open","Leave"])");
    EXPECT_EQ(choices_after([&] { stage->session.cancel(); }), R"(["Open","Leave"])");
    EXPECT_EQ(choices_after([&] { reply().plan(tells("Nothing to choose.")); }), "[]");
    EXPECT_EQ(choices_after(fails), "[]");
}

TEST_F(SessionTurn, CancelledTurnDoesNotOfferTheChoicesOfItsPlan) {
    set_up();
    stage->folder.says(
        "asks",
        {event("ui_event", R"("event":"narrative_choice","payload":{"choices":["Open"]})"), kDone});
    narrator.on_asked = [&] {
        reply().plan(plan_named("one", {entry("a", "asks"), entry("b", "hangs")}));
    };
    prompt("go", first);
    drive_until(stage->engine, [&] {
        return stage->recorder.of(Kind::ToolEnded).size() == 1 &&
               stage->recorder.of(Kind::ToolEvent).size() == 3;
    });
    stage->session.cancel();
    stage->engine.run_until_idle();
    EXPECT_EQ(first->outcome, Outcome::Cancelled);
    EXPECT_EQ(first->choices.text(), "[]");
}

TEST_F(SessionTurn, CancelledWaitingPromptIsInTheStream) {
    set_up();
    prompt("go", first);
    prompt("waits", second);
    asked(1);
    stage->session.cancel();
    stage->engine.run_until_idle();
    const auto prompts = stage->recorder.of(Kind::Prompt);
    const auto ends = stage->recorder.of(Kind::TurnEnded);
    ASSERT_EQ(prompts.size(), 2u);
    ASSERT_EQ(ends.size(), 2u);
    EXPECT_EQ(prompts[1].body["text"].string(), "waits");
    EXPECT_EQ(ends[0].text, R"({"outcome":"cancelled","generations":1,"choices":[]})");
    EXPECT_EQ(ends[1].text, R"({"outcome":"cancelled","generations":0,"choices":[]})");
    EXPECT_LT(ends[0].seq, prompts[1].seq);
}

TEST_F(SessionTurn, StreamReportsTheEndBeforeTheHandler) {
    set_up();
    narrator.on_asked = [&] { reply().plan(tells("There.")); };
    size_t ends = 0;
    stage->session.prompt("go",
                          [&](const Turn&) { ends = stage->recorder.of(Kind::TurnEnded).size(); });
    stage->engine.run_until_idle();
    EXPECT_EQ(ends, 1u);
}

// ---- patches without a tool

TEST_F(SessionTurn, HostPatchHasTheSameNumberInStreamAndHistory) {
    set_up();
    stage->session.patch_state(R"({ "score" : 1 })");
    const Record patched = stage->recorder.one(Kind::StatePatched);
    EXPECT_EQ(patched.text, R"({"patch":{"score":1},"by":""})");
    const Json history(stage->session.history().view());
    EXPECT_EQ(history["patches"][0]["seq"].integer(), static_cast<int64_t>(patched.seq));
}

// All sinks see the same order, even if the first one patches before the second gets the record.
TEST_F(SessionTurn, PatchFromASinkFollowsTheCurrentRecord) {
    set_up();
    Recorder late;
    stage->session.attach(std::ref(late));
    stage->recorder.on_record = [&](const Record& record) {
        if (record.kind == Kind::Prompt) stage->session.patch_state(R"({"asked":true})");
    };
    narrator.on_asked = [&] { reply().plan(tells("There.")); };
    prompt("go", first);
    stage->engine.run_until_idle();
    for (Recorder* recorder : {&stage->recorder, &late}) {
        uint64_t before = 0;
        for (const Record& record : recorder->records) EXPECT_EQ(record.seq, ++before);
        ASSERT_GE(recorder->records.size(), 2u);
        EXPECT_EQ(recorder->records[0].kind, Kind::Prompt);
        EXPECT_EQ(recorder->records[1].kind, Kind::StatePatched);
    }
}

TEST_F(SessionTurn, EndlesslyPatchingSinkIsStoppedWithAWarning) {
    set_up();
    stage->recorder.on_record = [&](const Record& record) {
        if (record.kind == Kind::StatePatched) stage->session.patch_state(R"({"again":true})");
    };
    stage->session.patch_state("{}");
    EXPECT_EQ(stage->recorder.one(Kind::Warning).body["code"].string(), "RECORDS_DROPPED");
    EXPECT_LT(stage->recorder.records.size(), 20'000u);
}

TEST_F(SessionTurn, SinkMayPatchManyTimesPerRecord) {
    set_up();
    stage->recorder.on_record = [&](const Record& record) {
        if (record.kind != Kind::Prompt) return;
        for (int i = 0; i < 20'000; ++i) stage->session.patch_state(R"({"count":1})");
    };
    narrator.on_asked = [&] { reply().plan(tells("There.")); };
    prompt("go", first);
    stage->engine.run_until_idle();
    EXPECT_EQ(stage->recorder.of(Kind::StatePatched).size(), 20'000u);
    EXPECT_TRUE(stage->recorder.of(Kind::Warning).empty());
}

TEST_F(SessionTurn, CancelAffectsOnlyEarlierPrompts) {
    set_up();
    prompt("before", first);
    stage->session.cancel();
    prompt("after", second);
    asked(1);
    EXPECT_EQ(request()["prompt"]["text"].string(), "after");
    reply().plan(tells("goes on"));
    stage->engine.run_until_idle();
    EXPECT_EQ(first->outcome, Outcome::Cancelled);
    EXPECT_EQ(second->outcome, Outcome::Completed);
}

TEST_F(SessionTurn, CancelWithoutATurnHasNoEffect) {
    set_up();
    stage->session.cancel();
    stage->engine.run_until_idle();
    prompt("go", first);
    stage->session.cancel();
    stage->session.cancel();
    stage->engine.run_until_idle();
    EXPECT_EQ(first->outcome, Outcome::Cancelled);
    EXPECT_THAT(narrator.requests, IsEmpty());
}

TEST_F(SessionTurn, WaitingHostPlansAreCancelledWithAResult) {
    set_up();
    std::vector<Json> results;
    for (const char* id : {"running", "waiting"}) {
        stage->session.execute(plan_named(id, {entry("a", "hangs")}), stage->folder.path(),
                               [&](Result result) { results.emplace_back(result.json().view()); });
    }
    drive_until(stage->engine, [&] { return !stage->recorder.of(Kind::ToolEvent).empty(); });
    stage->session.cancel();
    stage->engine.run_until_idle();
    ASSERT_EQ(results.size(), 2u);
    EXPECT_EQ(tool_of(results[0], "a")["state"].string(), "failed");
    EXPECT_EQ(results[1]["planId"].string(), "waiting");
    EXPECT_EQ(tool_of(results[1], "a")["state"].string(), "skipped");
}

// ---- timeouts

TEST_F(SessionTurn, PromptTimeoutEndsANarratorsQuestion) {
    set_up(times_of(NAR_NONE, 40));
    prompt("go", first);
    stage->engine.run_until_idle();
    ASSERT_TRUE(first);
    EXPECT_EQ(first->outcome, Outcome::Timeout);
    EXPECT_EQ(first->generations, 1u);
    EXPECT_THAT(narrator.cancelled, ElementsAre(reply().token()));
}

TEST_F(SessionTurn, PromptTimeoutEndsARunningTool) {
    set_up(times_of(NAR_NONE, 150));
    narrator.on_asked = [&] { reply().plan(plan_named("one", {entry("a", "hangs")})); };
    prompt("go", first);
    prompt("next", second);
    drive_until(stage->engine, [&] { return first.has_value(); });
    EXPECT_EQ(first->outcome, Outcome::Timeout);
    const Json tool = tool_of(*first->result, "a");
    EXPECT_EQ(tool["state"].string(), "timeout");
    EXPECT_EQ(tool["errorCode"].string(), "PROMPT_TIMEOUT");
    // The next prompt has its own timeout.
    narrator.on_asked = [&] { reply().plan(tells("in time")); };
    stage->engine.run_until_idle();
    EXPECT_EQ(second->outcome, Outcome::Completed);
}

// ---- end of the session

TEST_F(SessionTurn, EndingSessionReportsCancellationToItsHandlers) {
    set_up();
    prompt("runs", first);
    prompt("waits", second);
    asked(1);
    const uint64_t token = reply().token();
    { const Session gone = std::move(stage->session); }
    ASSERT_TRUE(first);
    ASSERT_TRUE(second);
    EXPECT_EQ(first->outcome, Outcome::Cancelled);
    EXPECT_EQ(second->outcome, Outcome::Cancelled);
    EXPECT_EQ(reply_to(stage->engine, token, "{}"), NAR_GONE);
    EXPECT_FALSE(reply().plan("{}"));
    EXPECT_FALSE(stage->engine.is_busy());
}

TEST_F(SessionTurn, SessionMayBeEndedWithinItsNarrator) {
    set_up();
    narrator.on_asked = [&] { const Session gone = std::move(stage->session); };
    prompt("go", first);
    stage->engine.run_until_idle();
    ASSERT_TRUE(first);
    EXPECT_EQ(first->outcome, Outcome::Cancelled);
}

TEST_F(SessionTurn, HandlerMayEndAnotherSessionWhileItsOwnEnds) {
    Engine engine;
    Session one(engine, {.narrator = narrator.narrator()});
    std::optional<Session> other(std::in_place, engine,
                                 SessionOptions{.narrator = narrator.narrator()});
    int told = 0;
    other->prompt("other", [&](Turn) { ++told; });
    one.prompt("one", [&](Turn) {
        ++told;
        other.reset();
    });
    // Deferred until the callback returns, because the session ends within it.
    engine.post([&] { const Session gone = std::move(one); });
    engine.run_until_idle();
    EXPECT_EQ(told, 2);
}

TEST_F(SessionTurn, HandlersMayEndSessionsWhileTheirEngineEnds) {
    // Uses the C calls, because the wrapper refuses calls to an engine that is being destroyed.
    nar_engine* engine = nullptr;
    ASSERT_EQ(nar_engine_create(nullptr, &engine, nullptr), NAR_OK);
    struct Pair {
        nar_session* sessions[2] = {};
        int told = 0;
    } pair;
    nar_narrator silent{};
    silent.size = sizeof silent;
    silent.generate = [](void*, const nar_narrator_request*) {};
    nar_session_options options{};
    options.size = sizeof options;
    options.narrator = &silent;
    nar_turn_handler handler{};
    handler.size = sizeof handler;
    handler.user = &pair;
    handler.ended = [](void* user, const nar_turn* turn) {
        auto& its = *static_cast<Pair*>(user);
        EXPECT_EQ(turn->outcome, static_cast<uint32_t>(NAR_TURN_CANCELLED));
        ++its.told;
        for (nar_session*& session : its.sessions) {
            if (session != nullptr) nar_session_destroy(std::exchange(session, nullptr), nullptr);
        }
    };
    for (nar_session*& session : pair.sessions) {
        ASSERT_EQ(nar_session_create(engine, &options, &session, nullptr), NAR_OK);
        ASSERT_EQ(nar_session_prompt(session, NAR_STR("go"), &handler, nullptr, nullptr), NAR_OK);
    }
    ASSERT_EQ(nar_engine_run_for(engine, 0, nullptr), NAR_OK);
    EXPECT_EQ(nar_engine_destroy(engine, nullptr), NAR_OK);
    EXPECT_EQ(pair.told, 2);
}

}  // namespace
