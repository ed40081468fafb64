// SPDX-License-Identifier: Apache-2.0
#include "base/inbox.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace narratoria {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Answer {
    std::string text;
};

class InboxTest : public testing::Test, public Inbox::Poster, public Inbox::Receiver {
public:
    InboxTest() : Poster(3) {
        loop.set_on_wake([this] { inbox.deliver(); });
    }
    ~InboxTest() override {
        inbox.close_all(this);
        inbox.forget_posts(*this);
    }

    void run_post(const Inbox::Post& post) override {
        calls.emplace_back("run");
        post.function(post.user);
    }
    void drop_post(const Inbox::Post& post) override {
        calls.emplace_back("drop");
        if (post.drop) post.drop(post.user);
    }
    void on_output(std::string bytes) override {
        calls.push_back("output " + (bytes.size() > 100 ? std::to_string(bytes.size()) : bytes));
        if (throws) throw std::runtime_error("no");
    }
    void on_diagnostics(std::string_view bytes) override {
        calls.push_back("diagnostics " + std::string(bytes));
        if (closes != 0) inbox.close(closes);
    }
    void on_ended(std::any end) override {
        calls.push_back("end " + std::any_cast<Answer>(end).text);
    }

    uint64_t open() { return inbox.open<Answer>(this, *this); }
    nar_status end(uint64_t token, const char* text) {
        return inbox.send_end(this, token, Answer{text});
    }
    // Runs one round without blocking.
    void round() { loop.run_for(0); }
    static Inbox::Post counting(int& count) {
        return {[](void* user) { ++*static_cast<int*>(user); },
                [](void* user) { --*static_cast<int*>(user); }, &count};
    }

    Loop loop;
    std::vector<std::string> calls;
    std::vector<std::string> lines;
    uint64_t closes = 0;
    bool throws = false;
    Inbox inbox{loop, [this](uint32_t, std::string_view line, std::string_view) {
                    lines.emplace_back(line);
                }};
};

TEST_F(InboxTest, SuspendedTokenWaitsForItsRelease) {
    const uint64_t token = inbox.open_suspended<Answer>(this, *this);
    inbox.send_output(this, token, "a");
    round();
    EXPECT_THAT(calls, IsEmpty());
    inbox.release(token);
    inbox.send_output(this, token, "b");
    round();
    EXPECT_THAT(calls, ElementsAre("output ab"));
}

TEST_F(InboxTest, DeliversASuspendedTokenAtOnce) {
    const uint64_t token = inbox.open_suspended<Answer>(this, *this);
    inbox.send_diagnostics(this, token, "d");
    inbox.send_output(this, token, std::string(Inbox::kPiece + 1000, 'x'));
    end(token, "done");
    inbox.deliver(token);
    EXPECT_THAT(calls, ElementsAre("diagnostics d", "output " + std::to_string(Inbox::kPiece),
                                   "output 1000", "end done"));
}

TEST_F(InboxTest, PostRunsOnceInTheNextRound) {
    int count = 0;
    std::thread([&] { EXPECT_EQ(inbox.post(*this, counting(count)), NAR_OK); }).join();
    EXPECT_EQ(count, 0);
    EXPECT_TRUE(inbox.has_waiting(*this));
    round();
    round();
    EXPECT_EQ(count, 1);
    EXPECT_FALSE(inbox.has_waiting(*this));
}

TEST_F(InboxTest, PosterAboveItsQueueLimitIsBusy) {
    int count = 0;
    for (int i = 0; i < 3; ++i) EXPECT_EQ(inbox.post(*this, counting(count)), NAR_OK);
    EXPECT_EQ(inbox.post(*this, counting(count)), NAR_BUSY);
    round();
    EXPECT_EQ(count, 3);
    EXPECT_EQ(inbox.post(*this, counting(count)), NAR_OK);
    round();
}

TEST_F(InboxTest, PostersTakeTurnsWhateverTheirQueueLength) {
    struct Recorder : Inbox::Poster {
        explicit Recorder(std::vector<std::string>& calls) : Poster(10), into(calls) {}
        void run_post(const Inbox::Post& post) override {
            into.push_back(*static_cast<std::string*>(post.user));
        }
        void drop_post(const Inbox::Post&) override {}
        std::vector<std::string>& into;
    };
    Recorder busy(calls), other(calls);
    std::string names[] = {"busy 1", "busy 2", "busy 3", "other 1"};
    for (int i = 0; i < 3; ++i) inbox.post(busy, {nullptr, nullptr, &names[i]});
    inbox.post(other, {nullptr, nullptr, &names[3]});
    round();
    EXPECT_THAT(calls, ElementsAre("busy 1", "other 1", "busy 2", "busy 3"));
    inbox.post(busy, {nullptr, nullptr, &names[0]});
    inbox.forget_posts(busy);
    EXPECT_FALSE(inbox.has_waiting(busy));
    round();
    EXPECT_EQ(calls.size(), 4U) << "a forgotten poster gets no turn";
}

TEST_F(InboxTest, ForgottenPostsAreDroppedWithoutRunning) {
    int count = 0;
    inbox.post(*this, counting(count));
    inbox.post(*this, counting(count));
    inbox.forget_posts(*this);
    EXPECT_EQ(count, -2);
    round();
    EXPECT_THAT(calls, ElementsAre("drop", "drop"));
}

TEST_F(InboxTest, PostFromAPostWaitsForTheNextRound) {
    struct Again {
        InboxTest* test;
        int runs = 0;
    } again{this};
    const Inbox::Post post{
        [](void* user) {
            auto& its = *static_cast<Again*>(user);
            ++its.runs;
            its.test->inbox.post(
                *its.test,
                {[](void* inner) { ++static_cast<Again*>(inner)->runs; }, nullptr, user});
        },
        nullptr, &again};
    inbox.post(*this, post);
    inbox.deliver();
    EXPECT_EQ(again.runs, 1);
    inbox.deliver();
    EXPECT_EQ(again.runs, 2);
}

TEST_F(InboxTest, FirstEndOfATokenWins) {
    const uint64_t token = open();
    EXPECT_FALSE(inbox.has_end(token));
    EXPECT_EQ(end(token, "first"), NAR_OK);
    EXPECT_TRUE(inbox.has_end(token));
    EXPECT_EQ(end(token, "second"), NAR_STALE);
    EXPECT_EQ(inbox.send_output(this, token, "late"), NAR_STALE);
    round();
    EXPECT_THAT(calls, ElementsAre("end first"));
    EXPECT_EQ(end(token, "third"), NAR_STALE) << "delivered, but not closed yet";
    inbox.close(token);
    EXPECT_EQ(end(token, "fourth"), NAR_GONE);
}

TEST_F(InboxTest, ClosingATokenDropsItsUndeliveredEnd) {
    const uint64_t token = open();
    EXPECT_EQ(end(token, "too late"), NAR_OK);
    inbox.close(token);
    round();
    EXPECT_THAT(calls, IsEmpty());
}

TEST_F(InboxTest, ForeignTokenIsGone) {
    const uint64_t token = open();
    EXPECT_EQ(inbox.send_end(&loop, token, Answer{"foreign"}), NAR_GONE);
    EXPECT_EQ(inbox.send_output(&loop, token, "foreign"), NAR_GONE);
    EXPECT_EQ(inbox.send_end(this, token, std::string("no Answer")), NAR_GONE);
    EXPECT_EQ(inbox.send_end(nullptr, token, Answer{"whoever it belongs to"}), NAR_OK);
}

TEST_F(InboxTest, OutputIsDeliveredInPiecesBeforeTheEnd) {
    const uint64_t token = open();
    const std::string bytes(Inbox::kPiece + 200, 'x');
    EXPECT_EQ(inbox.send_output(this, token, bytes), NAR_OK);
    EXPECT_EQ(inbox.send_diagnostics(this, token, "why"), NAR_OK);
    EXPECT_EQ(end(token, "done"), NAR_OK);
    inbox.deliver();
    inbox.deliver();
    EXPECT_THAT(calls, ElementsAre("diagnostics why", "output " + std::to_string(Inbox::kPiece),
                                   "output 200", "end done"));
}

TEST_F(InboxTest, ClosedTokenReceivesNothingMore) {
    closes = open();
    inbox.send_diagnostics(this, closes, "why");
    inbox.send_output(this, closes, "out");
    end(closes, "done");
    round();
    EXPECT_THAT(calls, ElementsAre("diagnostics why"));
}

TEST_F(InboxTest, TokensTakeTurns) {
    const uint64_t large = open();
    const uint64_t small = open();
    inbox.send_output(this, large, std::string(2 * Inbox::kPiece, 'x'));
    inbox.send_output(this, small, "small");
    inbox.deliver();
    EXPECT_THAT(calls, ElementsAre("output " + std::to_string(Inbox::kPiece), "output small"));
}

TEST_F(InboxTest, WaitingOutputIsBounded) {
    const uint64_t token = open();
    EXPECT_EQ(inbox.send_output(this, token, std::string(Inbox::kMaxOutput, 'x')), NAR_OK);
    EXPECT_EQ(inbox.send_output(this, token, "x"), NAR_BUSY);
    inbox.deliver();
    EXPECT_EQ(inbox.send_output(this, token, "x"), NAR_OK);
}

TEST_F(InboxTest, LastOutputAlwaysFits) {
    const uint64_t token = open();
    EXPECT_EQ(inbox.send_output(this, token, std::string(Inbox::kMaxOutput, 'x')), NAR_OK);
    EXPECT_EQ(inbox.send_end(this, token, Answer{"end"}, "last"), NAR_OK);
    for (size_t piece = 0; piece <= Inbox::kMaxOutput / Inbox::kPiece; ++piece) inbox.deliver();
    ASSERT_GE(calls.size(), 2u);
    EXPECT_EQ(calls[calls.size() - 2], "output last");
}

TEST_F(InboxTest, ThrowingReceiverDoesNotLoseLaterMessages) {
    throws = true;
    inbox.send_output(this, open(), "first");
    inbox.send_output(this, open(), "second");
    EXPECT_THROW(round(), std::runtime_error);
    throws = false;
    round();
    EXPECT_THAT(calls, ElementsAre("output first", "output second"));
}

TEST_F(InboxTest, AllTokensOfAnOwnerEndTogether) {
    const uint64_t first = open();
    const uint64_t second = open();
    end(first, "by itself");
    inbox.end_all(this, Answer{"together"});
    EXPECT_EQ(end(second, "late"), NAR_STALE);
    round();
    EXPECT_THAT(calls, ElementsAre("end by itself", "end together"));
}

TEST_F(InboxTest, LogLinesStayInOrderAndExcessIsCounted) {
    for (size_t i = 0; i < Inbox::kMaxLines + 2; ++i) inbox.log(3, "line " + std::to_string(i));
    round();
    ASSERT_EQ(lines.size(), Inbox::kMaxLines + 1);
    EXPECT_EQ(lines.front(), "line 0");
    EXPECT_EQ(lines.back(),
              "2 more log lines of plugins were dropped because too many were waiting");
}

TEST_F(InboxTest, NothingSentByManyThreadsIsLost) {
    const uint64_t token = open();
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            for (int n = 0; n < 1000; ++n) EXPECT_EQ(inbox.send_output(this, token, "x"), NAR_OK);
        });
    }
    for (std::thread& thread : threads) thread.join();
    round();
    EXPECT_THAT(calls, ElementsAre("output 4000"));
}

}  // namespace
}  // namespace narratoria
