// SPDX-License-Identifier: Apache-2.0
#include "session/invocations.hpp"

#include "session_fixture.hpp"

namespace narratoria::session {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kDone = R"({"version":"0","type":"done","ok":true})";

class InvocationsTest : public SessionFixture {
protected:
    struct Outcome {
        uint64_t number;
        Json told;
    };

    // {"tool":"/a"}
    static std::string tool(std::string_view name, std::string_view members = {}) {
        return R"({"tool":"/)" + std::string(name) + '"' +
               (members.empty() ? "" : "," + std::string(members)) + "}";
    }
    nar_status invoke(const std::string& invocation) {
        return session->invoke(
            questions.back().token, invocation,
            [this](uint64_t its_number, std::string_view told) {
                outcomes.push_back({its_number, Json(std::string(told))});
                if (on_outcome) on_outcome();
            },
            number, why);
    }
    // Invokes a tool for the latest question, which must be open.
    void invoke_tool(std::string_view name, std::string_view members = {}) {
        ASSERT_EQ(invoke(tool(name, members)), NAR_OK) << why;
        run();
    }
    std::vector<std::string> told() const {
        std::vector<std::string> all;
        for (const Outcome& each : outcomes) {
            all.push_back(
                std::to_string(each.number) + " " + each.told["state"].string() +
                (each.told.has("errorCode") ? " " + each.told["errorCode"].string() : ""));
        }
        return all;
    }

    std::vector<Outcome> outcomes;
    std::function<void()> on_outcome;
    uint64_t number = 0;
    std::string why;
};

TEST_F(InvocationsTest, ToolRunsWhileTheNarratorThinks) {
    open();
    ask();
    invoke_tool("a", R"("input":{"wet":true},"line":4)");
    ASSERT_THAT(runner.running(), ElementsAre("a"));
    EXPECT_THAT(runner.starts[0].request, HasSubstr(R"("input":{"wet":true})"));
    runner.say("a", R"({"version":"0","type":"state_patch","patch":{"torch":"lit"}})");
    runner.say("a", kDone);
    tool::Outcome outcome = plan::succeeded();
    outcome.result = R"({"burns":7})";
    end("a", outcome);
    ASSERT_EQ(outcomes.size(), 1u);
    EXPECT_EQ(outcomes[0].number, number);
    const Json& told = outcomes[0].told;
    EXPECT_TRUE(told["ok"].boolean());
    EXPECT_EQ(told["state"].string(), "completed");
    EXPECT_EQ(told["result"], Json(R"({"burns":7})"));
    EXPECT_EQ(told["output"], Json(R"({"torch":"lit"})"));
    EXPECT_FALSE(told.has("error"));
    EXPECT_THAT(bodies(event::Kind::PlanEnded), IsEmpty());
    answer(plan("p", {"b"}));
    EXPECT_THAT(bodies(event::Kind::PlanEnded), testing::SizeIs(1))
        << "the invocations end before the plan starts";
    end("b");
    ASSERT_EQ(turns.size(), 1u);
    EXPECT_EQ(turns[0].outcome, TurnOutcome::Completed);
    EXPECT_EQ(turns[0].result->plan_id, "p");
    const auto started = bodies(event::Kind::PlanStarted);
    ASSERT_EQ(started.size(), 2u);
    EXPECT_TRUE(Json(started[0])["open"].boolean());
    EXPECT_NE(Json(started[0])["plan"]["requestId"].string(), "p");
    EXPECT_TRUE(Json(started[1])["parentPlanId"].is_null());
    EXPECT_EQ(Json(bodies(event::Kind::ToolStarted)[0])["line"].integer(), 4);
    EXPECT_THAT(warnings(), IsEmpty());
    EXPECT_FALSE(engine.busy());
}

TEST_F(InvocationsTest, RequestMayRunAThousandToolsAtOnce) {
    open();
    ask();
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(invoke(tool("a")), NAR_OK);
    EXPECT_EQ(invoke(tool("a")), NAR_BUSY);
    EXPECT_THAT(why, HasSubstr("1000 tools"));
    run();
    end("a");
    EXPECT_EQ(invoke(tool("a")), NAR_OK);
}

TEST_F(InvocationsTest, FailureIsRetriedOnlyOnRequest) {
    open();
    ask();
    invoke_tool("a");
    end("a", plan::failed("EXIT_STATUS", "wet"));
    EXPECT_THAT(told(), ElementsAre("1 failed EXIT_STATUS"));
    invoke_tool("b", R"("retryPolicy":{"maxRetries":1,"backoffMs":9})");
    end("b", plan::failed("EXIT_STATUS", "wet"));
    clock.advance(9);
    run();
    end("b");
    EXPECT_THAT(told(), ElementsAre("1 failed EXIT_STATUS", "2 completed"));
}

TEST_F(InvocationsTest, InvocationsRunConcurrentlyAndInSequence) {
    open();
    ask();
    invoke_tool("a");
    invoke_tool("b");
    EXPECT_THAT(runner.running(), ElementsAre("a", "b"));
    on_outcome = [this] {
        if (outcomes.size() == 1) {
            EXPECT_EQ(invoke(tool("c")), NAR_OK);
        }
    };
    end("b");
    EXPECT_THAT(runner.running(), ElementsAre("a", "c"));
    end("a");
    end("c");
    EXPECT_THAT(told(), ElementsAre("2 completed", "1 completed", "3 completed"));
    EXPECT_EQ(bodies(event::Kind::PlanStarted).size(), 1u) << "one question has one execution";
}

TEST_F(InvocationsTest, NarratorMayInvokeWithinTheCallback) {
    open();
    on_question = [this](uint64_t) { EXPECT_EQ(invoke(tool("a")), NAR_OK) << why; };
    ask();
    EXPECT_THAT(runner.running(), ElementsAre("a"));
    end("a");
    EXPECT_THAT(told(), ElementsAre("1 completed"));
}

TEST_F(InvocationsTest, FailedToolIsDisabledForTheRestOfThePrompt) {
    open();
    ask();
    invoke_tool("a");
    end("a", plan::failed("EXIT_STATUS", "the torch is wet"));
    ASSERT_THAT(told(), ElementsAre("1 failed EXIT_STATUS"));
    EXPECT_EQ(outcomes[0].told["error"].string(), "the torch is wet");
    EXPECT_TRUE(outcomes[0].told["result"].is_null());
    answer(plan("p", {"a"}));
    EXPECT_THAT(fault_rules(), ElementsAre("plan-skill-disabled"));
    EXPECT_THAT(request()["disabledSkills"].strings(), ElementsAre("a"));
    const Json invoked = request()["invocations"];
    EXPECT_TRUE(invoked["success"].boolean()) << "a failed invocation does not fail the question";
    EXPECT_THAT(invoked["failedTools"].strings(), ElementsAre("a-1"));
    EXPECT_TRUE(request()["previousResult"].is_null());
    EXPECT_FALSE(questions[0].request.has("invocations"));

    ASSERT_EQ(invoke(tool("a")), NAR_OK);
    run();
    EXPECT_THAT(told(), ElementsAre("1 failed EXIT_STATUS", "1 failed SKILL_DISABLED"));
    EXPECT_EQ(runner.starts.size(), 1u);
    fail("no idea");
    fail("none still");
    EXPECT_FALSE(request().has("invocations"))
        << "only invocations of the previous question are listed";
}

TEST_F(InvocationsTest, ForbiddenToolIsReportedAsAnOutcome) {
    settings.story.emplace();
    settings.story->folder = "/story";
    settings.story->allow_paths = {"/elsewhere"};
    open();
    ask();
    invoke_tool("a");
    EXPECT_THAT(told(), ElementsAre("1 failed TOOL_REFUSED"));
    EXPECT_THAT(outcomes[0].told["error"].string(), HasSubstr("allowed paths"));
    EXPECT_THAT(runner.starts, IsEmpty());
}

TEST_F(InvocationsTest, InvalidInvocationIsRefusedWithTheReason) {
    open();
    ask();
    const std::pair<const char*, const char*> refused[] = {
        {"{", "not valid JSON"},
        {"[]", "must be a JSON object"},
        {"{}", "\"tool\""},
        {R"({"tool":""})", "\"tool\""},
        {R"({"tool":7})", "\"tool\""},
        {R"({"tool":"a\u0000b"})", "NUL"},
        {R"({"tool":"a","input":[]})", "/input"},
        {R"({"tool":"a","line":0})", "/line"},
        {R"({"tool":"a","line":"3"})", "/line"},
        {R"({"tool":"a","timeoutMs":-1})", "/timeoutMs"},
        {R"({"tool":"a","retryPolicy":{"maxRetries":11}})", "/retryPolicy/maxRetries"},
        {R"({"tool":"a","environment":{"=":"x"}})", "/environment"},
    };
    for (const auto& [invocation, reason] : refused) {
        EXPECT_EQ(invoke(invocation), NAR_INVALID_DOCUMENT) << invocation;
        EXPECT_THAT(why, HasSubstr(reason)) << invocation;
    }
    run();
    EXPECT_THAT(outcomes, IsEmpty());
    EXPECT_THAT(bodies(event::Kind::PlanStarted), IsEmpty()) << "no tool was invoked";
}

TEST_F(InvocationsTest, OnlyAnOpenQuestionMayInvoke) {
    open();
    ask();
    const uint64_t first = questions[0].token;
    ASSERT_EQ(send(first, true, plan("p", {})), NAR_OK);
    EXPECT_EQ(invoke(tool("a")), NAR_GONE) << "the question is answered, even if not delivered";
    EXPECT_THAT(why, HasSubstr("already has a reply"));
    run();
    ASSERT_EQ(turns.size(), 1u);
    EXPECT_EQ(invoke(tool("a")), NAR_GONE) << "the turn has ended";
    ask();
    questions.back().token = first;
    EXPECT_EQ(invoke(tool("a")), NAR_GONE) << "the token belongs to an earlier question";
    questions.back().token = 0;
    EXPECT_EQ(invoke(tool("a")), NAR_GONE);
    EXPECT_EQ(session->cancel_invocation(first, 1), NAR_GONE);
}

TEST_F(InvocationsTest, NarratorTimeoutPausesWhileAToolRuns) {
    settings.times.narrator_ms = 1000;
    open();
    ask();
    clock.advance(600);
    invoke_tool("a");
    invoke_tool("b");
    clock.advance(50'000);
    end("a");
    clock.advance(50'000);
    end("b");
    clock.advance(399);
    run();
    EXPECT_EQ(questions.size(), 1u);
    clock.advance(1);
    run();
    EXPECT_EQ(questions.size(), 2u);
    EXPECT_THAT(warnings(), ElementsAre("NARRATOR_TIMEOUT"));
    EXPECT_THAT(request()["invocations"]["toolResults"].elements(), testing::SizeIs(2));
}

TEST_F(InvocationsTest, PlanTimeoutLimitsInvokedTools) {
    settings.times.plan_ms = 1000;
    open();
    ask();
    invoke_tool("a");
    clock.advance(600);
    end("a");
    clock.advance(5000);
    invoke_tool("b");
    clock.advance(400);
    run();
    EXPECT_THAT(told(), ElementsAre("1 completed", "2 timeout PLAN_TIMEOUT"));
    EXPECT_EQ(invoke(tool("c")), NAR_GONE);
    EXPECT_THAT(why, HasSubstr("plan_ms"));
    answer(plan("p", {}));
    EXPECT_EQ(turns.size(), 1u);
}

TEST_F(InvocationsTest, AnswerCancelsRunningInvocations) {
    open();
    ask();
    invoke_tool("a");
    invoke_tool("b");
    runner.say("b", kDone);
    answer(plan("p", {"c"}));
    EXPECT_THAT(told(), ElementsAre("1 failed CANCELLED", "2 completed"));
    EXPECT_THAT(runner.abandoned, ElementsAre("a", "b"));
    EXPECT_THAT(runner.running(), ElementsAre("c"));
    EXPECT_THAT(warnings(), ElementsAre("LINGERED", "INVOCATIONS_CANCELLED"));
    end("c");
    EXPECT_EQ(turns[0].outcome, TurnOutcome::Completed);
}

TEST_F(InvocationsTest, CancelledPromptNotifiesTheNarratorFirst) {
    open();
    ask();
    invoke_tool("a");
    on_outcome = [this] {
        EXPECT_THAT(withdrawn, ElementsAre(questions[0].token));
        EXPECT_EQ(invoke(tool("b")), NAR_GONE);
        EXPECT_EQ(send(questions[0].token, true, plan("p", {})), NAR_GONE);
    };
    session->request_cancel();
    run();
    EXPECT_THAT(told(), ElementsAre("1 failed CANCELLED"));
    ASSERT_EQ(turns.size(), 1u);
    EXPECT_EQ(turns[0].outcome, TurnOutcome::Cancelled);
    EXPECT_EQ(records.back().kind, event::Kind::TurnEnded);
}

TEST_F(InvocationsTest, PromptTimeoutEndsThem) {
    settings.times.prompt_ms = 1000;
    open();
    ask();
    invoke_tool("a");
    clock.advance(1000);
    run();
    EXPECT_THAT(told(), ElementsAre("1 timeout PROMPT_TIMEOUT"));
    ASSERT_EQ(turns.size(), 1u);
    EXPECT_EQ(turns[0].outcome, TurnOutcome::Timeout);
}

TEST_F(InvocationsTest, EndOfTheSessionEndsThem) {
    open();
    ask();
    invoke_tool("a");
    close();
    EXPECT_THAT(told(), ElementsAre("1 failed CANCELLED"));
    EXPECT_THAT(runner.abandoned, ElementsAre("a"));
}

TEST_F(InvocationsTest, OneInvocationCanBeCancelled) {
    open();
    ask();
    invoke_tool("a");
    invoke_tool("b");
    EXPECT_EQ(session->cancel_invocation(questions[0].token, 1), NAR_OK);
    EXPECT_THAT(outcomes, IsEmpty()) << "cancellation takes effect from the loop";
    run();
    EXPECT_THAT(told(), ElementsAre("1 failed CANCELLED"));
    for (const uint64_t other : {0u, 1u, 3u}) {
        EXPECT_EQ(session->cancel_invocation(questions[0].token, other), NAR_NOT_FOUND) << other;
    }
    end("b");
    answer(plan("p", {"a"}));
    EXPECT_THAT(runner.running(), ElementsAre("a")) << "a cancelled skill is not disabled";
    EXPECT_THAT(warnings(), IsEmpty());
    end("a");
}

TEST_F(InvocationsTest, ChoicesOfInvokedToolsAreOffered) {
    open();
    ask();
    invoke_tool("a");
    runner.say("a", R"({"version":"0","type":"ui_event","event":"narrative_choice",)"
                    R"("payload":{"choices":["North","South"]}})");
    end("a");
    answer(plan("p", {}));
    ASSERT_EQ(turns.size(), 1u);
    EXPECT_EQ(turns[0].choices, R"(["North","South"])");
}

TEST_F(InvocationsTest, ChoicesOfAFailedGenerationAreNotOffered) {
    open();
    ask();
    invoke_tool("a");
    runner.say("a", R"({"version":"0","type":"ui_event","event":"narrative_choice",)"
                    R"("payload":{"choices":["North"]}})");
    end("a");
    fail("no idea");
    answer(plan("p", {}));
    EXPECT_EQ(turns[0].choices, "[]");
}

}  // namespace
}  // namespace narratoria::session
