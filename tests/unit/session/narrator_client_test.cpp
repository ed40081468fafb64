// SPDX-License-Identifier: Apache-2.0
#include "session/narrator_client.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "support/sized.hpp"
#include "unit/base/fake_clock.hpp"

namespace narratoria::session {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class NarratorClientTest : public testing::Test, public NarratorClient::Listener {
protected:
    NarratorClientTest() {
        auto narrator = test::sized<nar_narrator>();
        narrator.user = this;
        narrator.generate = [](void* user, const nar_narrator_request* request) {
            auto& self = *static_cast<NarratorClientTest*>(user);
            self.tokens.push_back(request->token);
            self.timeouts.push_back(request->timeout_ms);
            self.depth = self.engine.callback_depth();
        };
        narrator.cancel = [](void* user, uint64_t token) {
            static_cast<NarratorClientTest*>(user)->cancelled.push_back(token);
        };
        client.set_narrator(narrator);
    }

    void on_answer(NarratorAnswer answer) override {
        calls.push_back((answer.is_plan ? "plan " : "failure ") + answer.text);
        if (asks_again) ask(0);
    }
    void on_delta(std::string_view text) override { calls.push_back("piece " + std::string(text)); }
    void on_usage(std::string_view line) override { calls.push_back("usage " + std::string(line)); }
    void on_narrator_timeout(std::string message) override {
        calls.push_back("timeout: " + message);
        if (asks_again) ask(0);
    }
    void ask(uint32_t narrator_ms) {
        times.narrator_ms = narrator_ms;
        client.ask("{}", times, *this);
    }
    static engine::EngineSettings settings(Clock& clock) {
        engine::EngineSettings made;
        made.jobs = 1;
        made.clock = &clock;
        return made;
    }

    test::FakeClock clock;
    engine::Engine engine{settings(clock)};
    NarratorClient client{engine};
    engine::Times times;
    std::vector<uint64_t> tokens;
    std::vector<uint32_t> timeouts;
    std::vector<uint64_t> cancelled;
    std::vector<std::string> calls;
    uint32_t depth = 0;
    bool asks_again = false;
};

TEST_F(NarratorClientTest, RequestTellsTheTimeForTheReply) {
    ask(700);
    client.withdraw();
    ask(0);
    EXPECT_THAT(timeouts, ElementsAre(700, NAR_NONE));
}

TEST_F(NarratorClientTest, AnswerFromAnotherThreadIsDeliveredByTheLoop) {
    ask(0);
    EXPECT_TRUE(client.is_asking());
    EXPECT_EQ(depth, 1u) << "the narrator is called as a callback of the host";
    std::thread([this] { EXPECT_EQ(client.answer(tokens[0], {true, "p"}), NAR_OK); }).join();
    EXPECT_THAT(calls, IsEmpty());
    EXPECT_TRUE(engine.busy());
    engine.run_for(0);
    EXPECT_THAT(calls, ElementsAre("plan p"));
    EXPECT_FALSE(client.is_asking());
    EXPECT_FALSE(engine.busy());
}

TEST_F(NarratorClientTest, LongReasonIsCut) {
    ask(0);
    client.answer(tokens[0], {false, std::string(5000, 'x')});
    engine.run_for(0);
    EXPECT_THAT(calls, ElementsAre("failure " + std::string(4096, 'x') + "… (5000 bytes)"));
}

TEST_F(NarratorClientTest, WithdrawnQuestionCannotBeAnswered) {
    ask(1000);
    client.withdraw();
    client.withdraw();
    EXPECT_THAT(cancelled, ElementsAre(tokens[0]));
    EXPECT_EQ(client.answer(tokens[0], {true, "p"}), NAR_GONE);
    clock.advance(1000);
    EXPECT_THAT(calls, IsEmpty());
}

TEST_F(NarratorClientTest, LateNarratorIsCancelledBeforeTheNextQuestion) {
    asks_again = true;
    ask(1000);
    clock.advance(1000);
    const std::string late =
        "timeout: the narrator did not reply within 1000 ms (narrator_ms of [times])";
    EXPECT_THAT(calls, ElementsAre(late));
    ASSERT_EQ(tokens.size(), 2u);
    EXPECT_THAT(cancelled, ElementsAre(tokens[0]));
    asks_again = false;
    EXPECT_EQ(client.answer(tokens[1], {false, "no"}), NAR_OK);
    engine.run_for(0);
    EXPECT_THAT(calls, ElementsAre(late, "failure no"));
}

TEST_F(NarratorClientTest, EachPieceHasItsOwnTime) {
    times.narrator_first_ms = 100;
    times.narrator_between_ms = 10;
    ask(0);
    clock.advance(99);
    client.delta(tokens[0], "one");
    engine.run_for(0);
    clock.advance(9);
    client.delta(tokens[0], "two");
    engine.run_for(0);
    client.pause_time();
    clock.advance(1000);
    client.resume_time();
    clock.advance(9);
    EXPECT_THAT(calls, ElementsAre("piece one", "piece two"));
    clock.advance(1);
    EXPECT_THAT(calls, ElementsAre("piece one", "piece two",
                                   "timeout: the narrator did not continue its narrative within "
                                   "10 ms (narrator_between_ms of [times])"));
    EXPECT_THAT(cancelled, ElementsAre(tokens[0]));
}

TEST_F(NarratorClientTest, PieceThatIsDeliveredInAPauseDoesNotEndIt) {
    times.narrator_between_ms = 10;
    ask(0);
    client.delta(tokens[0], "one");
    client.pause_time();
    engine.run_for(0);
    clock.advance(1000);
    EXPECT_THAT(calls, ElementsAre("piece one"));
    client.resume_time();
    clock.advance(10);
    EXPECT_EQ(calls.size(), 2u);
}

TEST_F(NarratorClientTest, FirstPieceHasItsOwnTime) {
    times.narrator_first_ms = 100;
    ask(1000);
    clock.advance(100);
    EXPECT_THAT(calls, ElementsAre("timeout: the narrator told nothing within 100 ms "
                                   "(narrator_first_ms of [times])"));
}

TEST_F(NarratorClientTest, AnsweredQuestionsAreStaleUntilForgotten) {
    ask(0);
    client.answer(tokens[0], {true, "p"});
    engine.run_for(0);
    EXPECT_EQ(client.answer(tokens[0], {true, "p"}), NAR_STALE);
    client.forget_questions();
    EXPECT_EQ(client.answer(tokens[0], {true, "p"}), NAR_GONE);
}

TEST_F(NarratorClientTest, QuestionOfAnotherClientIsGone) {
    NarratorClient other(engine);
    ask(0);
    EXPECT_EQ(other.answer(tokens[0], {true, "p"}), NAR_GONE);
    EXPECT_EQ(client.answer(tokens[0], {true, "p"}), NAR_OK);
}

}  // namespace
}  // namespace narratoria::session
