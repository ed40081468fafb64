// SPDX-License-Identifier: Apache-2.0
#include "session/session.hpp"

#include <thread>

#include "session_fixture.hpp"

namespace narratoria::session {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class SessionTest : public SessionFixture {
protected:
    bool execute(const std::string& document) {
        faults.clear();
        return session->execute(
            document, "",
            [this](std::shared_ptr<const plan::Result> result) {
                results.push_back(std::move(result));
            },
            faults);
    }
    std::vector<std::shared_ptr<const plan::Result>> results;
    Faults faults;
};

TEST_F(SessionTest, NothingStartsWithinTheSubmittingCall) {
    open();
    EXPECT_FALSE(engine.busy());
    ASSERT_TRUE(prompt("Go on."));
    EXPECT_TRUE(engine.busy());
    EXPECT_THAT(questions, IsEmpty());
    run();
    EXPECT_EQ(questions.size(), 1u);
}

TEST_F(SessionTest, OnePromptMayWaitAndAThirdIsRefused) {
    open();
    ask("one");
    EXPECT_TRUE(prompt("two"));
    EXPECT_FALSE(prompt("three"));
    run();
    EXPECT_EQ(questions.size(), 1u);
    answer(plan("p1", {}));
    ASSERT_EQ(questions.size(), 2u);
    EXPECT_EQ(request()["prompt"]["text"].string(), "two");
    EXPECT_TRUE(prompt("three"));
}

TEST_F(SessionTest, HostPlanNeedsNoNarrator) {
    settings.narrator.reset();
    open();
    EXPECT_FALSE(session->has_narrator());
    ASSERT_TRUE(execute(plan("p1", {"a", "b"})));
    run();
    EXPECT_THAT(runner.running(), ElementsAre("a"));
    end("a");
    end("b");
    ASSERT_EQ(results.size(), 1u);
    EXPECT_TRUE(results[0]->success);
    EXPECT_FALSE(engine.busy());
}

TEST_F(SessionTest, HostPlanWaitsForThePreviousTurn) {
    open();
    ask();
    ASSERT_TRUE(execute(plan("hosts", {"b"})));
    run();
    EXPECT_THAT(runner.running(), IsEmpty());
    answer(plan("p1", {"a"}));
    end("a");
    EXPECT_THAT(runner.running(), ElementsAre("b"));
    end("b");
    EXPECT_EQ(results.size(), 1u);
    EXPECT_EQ(turns.size(), 1u);
}

TEST_F(SessionTest, InvalidHostPlanIsRefusedAtOnce) {
    open();
    EXPECT_FALSE(execute(R"({"requestId":""})"));
    EXPECT_FALSE(faults.empty());
    EXPECT_FALSE(engine.busy());
}

TEST_F(SessionTest, FailedToolIsRetriedAfterItsBackoff) {
    open();
    ASSERT_TRUE(execute(
        R"({"requestId":"p1","tools":[{"toolId":"a","toolPath":"/a","retryPolicy":{"maxRetries":1,"backoffMs":700}}]})"));
    run();
    end("a", plan::failed());
    clock.advance(699);
    run();
    EXPECT_EQ(runner.starts.size(), 1u);
    clock.advance(1);
    run();
    EXPECT_EQ(runner.starts.size(), 2u);
}

TEST_F(SessionTest, CancellingWithdrawsTheQuestion) {
    open();
    ask();
    std::thread([this] { session->request_cancel(); }).join();
    EXPECT_TRUE(engine.busy());
    run();
    ASSERT_EQ(turns.size(), 1u);
    EXPECT_EQ(turns[0].outcome, TurnOutcome::Cancelled);
    EXPECT_THAT(withdrawn, ElementsAre(questions[0].token));
    EXPECT_EQ(send(questions[0].token, true, plan("late", {"a"})), NAR_GONE);
    EXPECT_FALSE(engine.busy());
}

TEST_F(SessionTest, CancellationIsNotReportedAfterTheAnswer) {
    open();
    ask();
    EXPECT_EQ(send(questions[0].token, true, plan("p1", {"a"})), NAR_OK);
    session->request_cancel();
    session->apply_cancel();
    EXPECT_THAT(withdrawn, IsEmpty());
    run();
    EXPECT_THAT(runner.started(), IsEmpty());
    ASSERT_EQ(turns.size(), 1u);
    EXPECT_EQ(turns[0].outcome, TurnOutcome::Cancelled);
}

TEST_F(SessionTest, CancellingEndsTheTools) {
    open();
    ask();
    answer(plan("p1", {"a", "b"}));
    session->request_cancel();
    run();
    ASSERT_EQ(turns.size(), 1u);
    EXPECT_EQ(turns[0].outcome, TurnOutcome::Cancelled);
    EXPECT_TRUE(turns[0].result->cancelled);
    EXPECT_THAT(runner.running(), IsEmpty());
    EXPECT_THAT(runner.started(), ElementsAre("a"));
}

TEST_F(SessionTest, WaitingPromptCancelledIsPublishedButNotAsked) {
    open();
    ask("one");
    ASSERT_TRUE(prompt("two"));
    session->request_cancel();
    run();
    ASSERT_EQ(turns.size(), 2u);
    EXPECT_EQ(turns[1].outcome, TurnOutcome::Cancelled);
    EXPECT_EQ(turns[1].generations, 0u);
    EXPECT_EQ(questions.size(), 1u);
    EXPECT_EQ(bodies(event::Kind::Prompt).size(), 2u);
}

TEST_F(SessionTest, CancellingDoesNotAffectLaterPrompts) {
    open();
    session->request_cancel();
    ask();
    EXPECT_EQ(questions.size(), 1u);
    EXPECT_THAT(turns, IsEmpty());
}

TEST_F(SessionTest, DestroyingASessionNotifiesItsHandlers) {
    open();
    ask("one");
    ASSERT_TRUE(prompt("two"));
    close();
    ASSERT_EQ(turns.size(), 2u);
    EXPECT_EQ(turns[0].outcome, TurnOutcome::Cancelled);
    EXPECT_EQ(turns[1].outcome, TurnOutcome::Cancelled);
    EXPECT_EQ(send(questions[0].token, true, plan("late", {})), NAR_GONE);
}

TEST_F(SessionTest, ThrowingHandlerIsDropped) {
    open();
    ASSERT_TRUE(session->prompt("Go on.", [](const TurnEnd&) { throw 1; }));
    run();
    answer(plan("p1", {}));
    EXPECT_FALSE(engine.busy());
    EXPECT_FALSE(engine.in_callback());
}

TEST_F(SessionTest, ToolPatchesReachTheInjectedStore) {
    open();
    ask();
    answer(plan("p1", {"a"}));
    runner.say("a", R"({"version":"0","type":"state_patch","patch":{"torch":"lit"}})");
    end("a", plan::failed());
    EXPECT_EQ(request()["state"].text(), R"({"torch":"lit"})");
    std::string state;
    session->state().tree().append_json(state);
    EXPECT_EQ(state, R"({"torch":"lit"})");
}

}  // namespace
}  // namespace narratoria::session
