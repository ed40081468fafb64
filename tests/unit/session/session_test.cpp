// SPDX-License-Identifier: Apache-2.0
#include "session/session.hpp"

#include "session_fixture.hpp"

namespace narratoria::session {
namespace {

using testing::IsEmpty;

class SessionTest : public SessionFixture {};

TEST_F(SessionTest, FailedToolIsRetriedAfterItsBackoff) {
    open();
    ask();
    answer(
        R"({"requestId":"p1","tools":[{"toolId":"a","toolPath":"/a","retryPolicy":{"maxRetries":1,"backoffMs":700}}]})");
    end("a", plan::failed());
    clock.advance(699);
    EXPECT_EQ(runner.starts.size(), 1u);
    clock.advance(1);
    EXPECT_EQ(runner.starts.size(), 2u);
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

TEST_F(SessionTest, ThrowingHandlerIsDropped) {
    open();
    ASSERT_TRUE(session->prompt("Go on.", [](const TurnEnd&) { throw 1; }));
    run();
    answer(plan("p1", {}));
    EXPECT_FALSE(engine.busy());
    EXPECT_FALSE(engine.in_callback());
}

}  // namespace
}  // namespace narratoria::session
