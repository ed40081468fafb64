// SPDX-License-Identifier: Apache-2.0
// A plugin goes to the stored turns of its session (narratoria.turns/1).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "narratoria/host_session.h"
#include "narratoria/store.hpp"
#include "narratoria/tools.hpp"
#include "plugin/host.hpp"

namespace narratoria::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TurnsTest : public PluginHostTest {
protected:
    void SetUp() override {
        open_engine();
        store = folder / "saves.db";
        open_session({.narrator = narrator, .store = store});
        extend();
    }
    void extend() {
        host = session->extend("mover", NAR_EXTENSION_EVENT_SINK, idle_sink(), nullptr);
        turns = service<nar_host_turns>(host, NAR_HOST_TURNS);
    }
    void play(std::string_view prompt) {
        session->prompt(prompt);
        engine->run_until_idle();
    }
    // The stored turn from which the session continues.
    int64_t current() { return Json(session->current().view())["turn"].integer(); }
    nar_status go_to(uint64_t turn) {
        const nar_status status = turns->go_to(host, turn, nullptr);
        engine->run_until_idle();
        return status;
    }

    // The numbers and prompts of the last turns up to this one.
    std::vector<std::string> read(uint64_t turn, uint32_t count) {
        std::string text;
        const auto append = [](void* user, nar_str piece) -> nar_status {
            static_cast<std::string*>(user)->append(piece.data, piece.size);
            return NAR_OK;
        };
        read_status = turns->read(host, turn, count, append, &text);
        std::vector<std::string> prompts;
        for (const Json& each : Json(text.empty() ? "[]" : text).elements()) {
            prompts.push_back(std::to_string(each["id"].integer()) + each["prompt"].string());
        }
        return prompts;
    }

    Narrator narrator{.id = "echo",
                      .generate =
                          [](std::string_view, const NarratorReply& reply) {
                              reply.plan(R"({"requestId":"p","narrative":"Yes.","tools":[]})");
                          },
                      .cancel = {}};
    std::string store;
    const nar_host* host = nullptr;
    const nar_host_turns* turns = nullptr;
    nar_status read_status = NAR_OK;
};

TEST_F(TurnsTest, PluginUndoesPromptsAndStartsOver) {
    play("one");
    play("two");
    session->patch_state(R"({"after":"two"})");
    EXPECT_EQ(go_to(NAR_TURN_PREVIOUS), NAR_OK);
    EXPECT_EQ(current(), 1);
    EXPECT_EQ(session->state().view(), "{}");
    EXPECT_EQ(go_to(2), NAR_OK);
    EXPECT_EQ(current(), 2);
    EXPECT_EQ(go_to(NAR_TURN_BEGINNING), NAR_OK);
    EXPECT_EQ(current(), 0);
    EXPECT_EQ(go_to(NAR_TURN_PREVIOUS), NAR_NOT_FOUND);
    EXPECT_EQ(go_to(9), NAR_NOT_FOUND);
    EXPECT_THAT(
        log,
        HasSubstr(
            "plugin mover: the session did not go to a stored turn: the session has no turn 9"));
    EXPECT_EQ(go_to(NAR_TURN_CURRENT), NAR_INVALID_ARGUMENT);
}

TEST_F(TurnsTest, PluginPlaysAPromptAgain) {
    EXPECT_EQ(turns->again(host, NAR_TURN_CURRENT, nullptr), NAR_NOT_FOUND);
    run(plan_of({}));
    EXPECT_EQ(turns->again(host, 1, nullptr), NAR_INVALID_ARGUMENT);
    EXPECT_EQ(go_to(NAR_TURN_BEGINNING), NAR_OK);
    session.reset();
    open_session({.narrator = narrator, .store = store = folder / "other.db"});
    extend();
    play("one");
    play("two");
    for (const uint64_t turn : {uint64_t{NAR_TURN_CURRENT}, uint64_t{1}}) {
        uint64_t submission = 0;
        EXPECT_EQ(turns->again(host, turn, &submission), NAR_OK);
        EXPECT_GT(submission, 0u);
        engine->run_until_idle();
    }
    const Json all(session->turns().view());
    EXPECT_EQ(all["turns"][2]["prompt"].string(), "two");
    EXPECT_EQ(all["turns"][2]["parent"].integer(), 1);
    EXPECT_EQ(all["turns"][3]["prompt"].string(), "one");
    EXPECT_TRUE(all["turns"][3]["parent"].is_null());
    EXPECT_EQ(current(), 4);
}

TEST_F(TurnsTest, MoveIsRefusedWhileATurnRuns) {
    std::vector<nar_status> refused;
    session->attach(
        [&](Event) { refused.push_back(turns->go_to(host, NAR_TURN_BEGINNING, nullptr)); },
        narratoria::kinds(Kind::TurnEnded));
    play("one");
    EXPECT_THAT(refused, ElementsAre(NAR_BUSY));
    EXPECT_EQ(current(), 1);
}

// A plugin calls it in a callback, where the session must not change.
TEST_F(TurnsTest, MoveHappensAfterTheCall) {
    play("one");
    EXPECT_EQ(turns->go_to(host, NAR_TURN_BEGINNING, nullptr), NAR_OK);
    EXPECT_EQ(current(), 1);
    EXPECT_EQ(turns->go_to(host, NAR_TURN_BEGINNING, nullptr), NAR_BUSY);
    session->prompt("after the move");
    engine->run_until_idle();
    EXPECT_TRUE(Json(session->turns().view())["turns"][1]["parent"].is_null());
}

TEST_F(TurnsTest, CancelledMoveLeavesNoTrace) {
    play("one");
    for (auto* const move : {turns->go_to, turns->again}) {
        uint64_t submission = 0;
        const uint64_t turn = move == turns->go_to ? NAR_TURN_BEGINNING : NAR_TURN_CURRENT;
        EXPECT_EQ(move(host, turn, &submission), NAR_OK);
        EXPECT_TRUE(session->cancel(submission));
        engine->run_until_idle();
    }
    EXPECT_EQ(current(), 1);
    EXPECT_EQ(Json(session->turns().view())["turns"].size(), 1u);
    EXPECT_EQ(go_to(NAR_TURN_PREVIOUS), NAR_OK);
}

TEST_F(TurnsTest, FailedMoveIsAWarningAndThePromptIsNotPlayed) {
    play("one");
    EXPECT_EQ(turns->again(host, NAR_TURN_CURRENT, nullptr), NAR_OK);
    // The store goes away between the request and the move.
    ASSERT_EQ(std::filesystem::remove(store), true);
    engine->run_until_idle();
    EXPECT_EQ(current(), 1);
    EXPECT_THAT(log, HasSubstr("the session could not go to a stored turn: "));
    EXPECT_EQ(recorder.of(Kind::Prompt).size(), 1u);
    EXPECT_EQ(recorder.one(Kind::Warning).body["code"].string(), "STORE_REMOVED");
}

TEST_F(TurnsTest, PatchOfAPluginKeepsItsName) {
    service<nar_host_state>(host, NAR_HOST_STATE)->patch(host, NAR_STR(R"({"a":1})"));
    const std::string before(session->history().view());
    EXPECT_THAT(before, HasSubstr("mover"));
    play("one");
    EXPECT_EQ(go_to(1), NAR_OK);
    EXPECT_EQ(session->history().view(), before);
}

TEST_F(TurnsTest, PluginReadsTheLastTurns) {
    play("one");
    play("two");
    session->patch_state(R"({"after":"two"})");
    play("three");
    EXPECT_THAT(read(NAR_TURN_CURRENT, 2), ElementsAre("2two", "4three"));
    EXPECT_THAT(read(NAR_TURN_CURRENT, 9), ElementsAre("1one", "2two", "4three"));
    EXPECT_THAT(read(3, 9), ElementsAre("1one", "2two")) << "3 is the host's turn";
    EXPECT_THAT(read(NAR_TURN_PREVIOUS, 1), ElementsAre("2two"));
    EXPECT_THAT(read(NAR_TURN_BEGINNING, 9), ElementsAre());
    EXPECT_THAT(read(NAR_TURN_CURRENT, 0), ElementsAre());
    EXPECT_EQ(read_status, NAR_OK);
    EXPECT_THAT(read(9, 1), ElementsAre());
    EXPECT_EQ(read_status, NAR_NOT_FOUND);
    EXPECT_EQ(turns->read(host, NAR_TURN_CURRENT, 1, nullptr, nullptr), NAR_INVALID_ARGUMENT);
}

// A host is killed while a tool of its first turn runs that must not run twice, and opens the game
// again.
class InterruptedTest : public TurnsTest {
protected:
    void SetUp() override {
        narrator.generate = [](std::string_view, const NarratorReply& reply) {
            reply.plan(plan_of({entry("t", "pay")}));
        };
        store = folder / "saves.db";
    }
    void cut_off(const std::function<void()>& play_until_killed) {
        const pid_t child = ::fork();
        if (child == 0) {
            open([] { ::raise(SIGKILL); });
            play_until_killed();
            ::_exit(1);
        }
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFSIGNALED(status));
        open([this] { ++paid; });
    }
    void open(std::function<void()> pay) {
        close();
        open_engine();
        open_session({.id = "s", .narrator = narrator, .store = store});
        extend();
        session->tools().add({.name = "pay", .repeatable = false},
                             [pay](const plugin::InvocationRequest&, plugin::Invocation running) {
                                 pay();
                                 running.done(true);
                             });
    }
    nar_status resume(uint64_t turn, uint32_t flags = 0) {
        const nar_status status = turns->resume(host, turn, flags, nullptr);
        engine->run_until_idle();
        return status;
    }

    int paid = 0;
};

TEST_F(InterruptedTest, PluginFindsAndResumesThePrompt) {
    cut_off([this] { play("I pay"); });
    EXPECT_THAT(read(NAR_TURN_INTERRUPTED, 1), ElementsAre("1I pay"));
    EXPECT_EQ(resume(NAR_TURN_INTERRUPTED), NAR_DECLINED) << "it might pay twice";
    EXPECT_EQ(resume(NAR_TURN_INTERRUPTED, 2), NAR_INVALID_ARGUMENT);
    EXPECT_EQ(paid, 0);
    session->patch_state("{}");
    EXPECT_EQ(turns->resume(host, NAR_TURN_INTERRUPTED, NAR_RESUME_REPEATS, nullptr), NAR_OK);
    EXPECT_EQ(resume(NAR_TURN_INTERRUPTED), NAR_BUSY);
    EXPECT_EQ(paid, 1);
    EXPECT_EQ(current(), 3);
    EXPECT_TRUE(recorder.one(Kind::SessionMoved).body["playsAgain"].boolean());
    EXPECT_EQ(resume(3), NAR_INVALID_ARGUMENT) << "it has ended";
}

TEST_F(InterruptedTest, PromptThatWasPlayedPastIsFoundByItsNumberOnly) {
    cut_off([this] { play("I pay"); });
    play("I go on");
    EXPECT_EQ(go_to(NAR_TURN_PREVIOUS), NAR_OK);
    EXPECT_THAT(read(NAR_TURN_INTERRUPTED, 1), ElementsAre()) << "it is not the newest turn";
    EXPECT_EQ(read_status, NAR_OK);
    EXPECT_EQ(resume(NAR_TURN_INTERRUPTED), NAR_NOT_FOUND);
    EXPECT_EQ(resume(1, NAR_RESUME_REPEATS), NAR_OK);
    EXPECT_EQ(paid, 2);
}

TEST_F(InterruptedTest, PlanOfTheHostIsNotAPrompt) {
    cut_off([this] { run(plan_of({entry("t", "pay")})); });
    EXPECT_THAT(read(NAR_TURN_INTERRUPTED, 1), ElementsAre());
    EXPECT_EQ(resume(NAR_TURN_INTERRUPTED), NAR_NOT_FOUND);
}

TEST_F(TurnsTest, SessionWithoutANarratorPlaysNothingAgain) {
    play("one");
    session.reset();
    const std::string id(Json(Store(store).sessions().view())[0]["id"].string());
    open_session({.id = id, .store = store});
    extend();
    EXPECT_EQ(turns->again(host, NAR_TURN_CURRENT, nullptr), NAR_INVALID_ARGUMENT);
    EXPECT_EQ(turns->resume(host, 1, 0, nullptr), NAR_INVALID_ARGUMENT);
    EXPECT_EQ(go_to(NAR_TURN_PREVIOUS), NAR_OK);
}

TEST_F(TurnsTest, SessionWithoutAStoreCannotMove) {
    session.reset();
    open_session({.narrator = narrator});
    extend();
    play("one");
    EXPECT_EQ(go_to(NAR_TURN_PREVIOUS), NAR_UNSUPPORTED);
    EXPECT_EQ(turns->again(host, NAR_TURN_CURRENT, nullptr), NAR_UNSUPPORTED);
    EXPECT_EQ(turns->resume(host, NAR_TURN_INTERRUPTED, 0, nullptr), NAR_UNSUPPORTED);
    EXPECT_THAT(read(NAR_TURN_CURRENT, 1), ElementsAre());
    EXPECT_EQ(read_status, NAR_UNSUPPORTED);
}

}  // namespace
}  // namespace narratoria::test
