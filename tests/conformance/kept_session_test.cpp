// SPDX-License-Identifier: Apache-2.0
// Sessions in a store (store.h): what is stored, how a reopened session continues, and what happens
// if the store cannot be written.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <random>

#include "conformance/narrators.hpp"
#include "narratoria/store.hpp"

namespace {

using namespace narratoria;
using namespace narratoria::test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class KeptSession : public ::testing::Test {
protected:
    // The narrator answers each prompt with a plan that runs the tool of that name.
    KeptSession()
        : narrator([this](const Json& request) {
              return plan_of({entry("t", folder / request["prompt"]["text"].string())},
                             R"("narrative":"told")");
          }) {
        folder.says("adds", {patch(R"({"a":{"b":1},"n":[1,2]})"), kDone});
        folder.says("removes", {patch(R"({"a":{"b":null,"c":"x"}})"), kDone});
        folder.write("picture.png", "png");
        folder.says(
            "paints",
            {event("asset", R"("assetId":"p","kind":"image","mediaType":"image/png","path":)" +
                                json_text(folder / "picture.png")),
             event("ui_event", R"("event":"narrative_choice","payload":{"choices":["go"]})"),
             kDone});
        folder.says("fails", {kFailed});
    }

    Stage& open(SessionOptions options = {}) {
        stage.reset();
        options.id = "s";
        options.store = store.path();
        if (!options.narrator) options.narrator = narrator.narrator();
        stage.emplace(EngineOptions{}, options);
        return *stage;
    }
    // "id durable" of the turn.
    std::string play(std::string_view prompt) {
        std::string told;
        stage->session.prompt(prompt, [&](Turn turn) {
            told = std::to_string(turn.id()) + (turn.is_durable() ? " durable" : " not durable");
        });
        stage->engine.run_until_idle();
        return told;
    }
    std::vector<std::string> turns() const {
        std::vector<std::string> all;
        const Text text = store.turns("s");
        for (const Json& turn : Json(text.view())["turns"].elements()) {
            all.push_back(turn["kind"].string() + " " + turn["prompt"].string() + " " +
                          turn["status"].string());
        }
        return all;
    }
    std::string state() const { return std::string(stage->session.state().view()); }
    std::string stored_state(uint64_t turn = NAR_TURN_CURRENT) const {
        return std::string(store.state("s", turn).view());
    }

    Folder folder;
    const Store store{folder / "saves.db"};
    ScriptedNarrator narrator;
    std::optional<Stage> stage;
};

TEST_F(KeptSession, ReopenedSessionContinuesWithTheSameData) {
    open({.state = R"({"first":true})"});
    play("adds");
    play("paints");
    stage->session.patch_state(R"({"host":1})");
    stage->session.set_state("gold", "3", StateMetadata{.description = "coins"});
    play("removes");
    auto all = [&] {
        Session& session = stage->session;
        return std::vector<std::string>{state(), std::string(session.history().view()),
                                        std::string(session.assets().view()),
                                        std::string(session.get_all_state_metadata().view())};
    };
    const std::vector<std::string> before = all();
    const uint64_t last_seq = stage->recorder.records.back().seq;
    open({.state = R"({"other":true})"});
    EXPECT_EQ(all(), before);
    EXPECT_EQ(play("adds"), "5 durable");
    EXPECT_EQ(stage->recorder.records.front().seq, last_seq + 1)
        << "sequence numbers are not reused";
}

TEST_F(KeptSession, RefusedPatchIsNotMergedWhenTheSessionIsReopened) {
    folder.says("floods", {patch(R"({"text":")" + std::string(200, 'x') + R"("})"), kDone});
    Limits limits;
    limits.patch_bytes = 100;
    stage.emplace(
        EngineOptions{.limits = limits},
        SessionOptions{.id = "s", .narrator = narrator.narrator(), .store = store.path()});
    play("adds");
    play("floods");
    const std::string before = state();
    EXPECT_EQ(before, R"({"a":{"b":1},"n":[1,2]})");
    open();
    EXPECT_EQ(state(), before);
}

TEST_F(KeptSession, ContinuingWithAnotherStoryIsLoggedUntilATurnIsPlayedWithIt) {
    for (const char* story : {"here/torch", "there/torch", "here/cave"}) {
        folder.write(std::string(story) + "/story.toml", "title = \"t\"\n");
    }
    auto warnings_with = [&](const std::string& story, bool plays = false) {
        std::vector<std::string> warnings;
        Engine engine({.log = [&](const LogLine& line) {
            if (line.level == NAR_LOG_WARN) warnings.emplace_back(line.message);
        }});
        const std::string path = folder / story;
        Session session(
            engine,
            {.id = "s", .story = path, .narrator = narrator.narrator(), .store = store.path()});
        if (plays) session.patch_state("{}");
        return warnings;
    };
    EXPECT_THAT(warnings_with("here/torch"), ElementsAre());
    EXPECT_THAT(warnings_with("there/torch", true), ElementsAre()) << "the story has moved";
    const auto names_both = ElementsAre(
        testing::AllOf(HasSubstr(folder / "there/torch"), HasSubstr(folder / "here/cave")));
    EXPECT_THAT(warnings_with("here/cave"), names_both);
    EXPECT_THAT(warnings_with("here/cave", true), names_both) << "it was only opened";
    EXPECT_THAT(warnings_with("here/cave"), ElementsAre()) << "it is the session's story now";
}

TEST_F(KeptSession, TurnEndsOnceItIsStored) {
    open();
    std::string seen;
    stage->session.prompt("adds", [&](Turn turn) {
        seen = std::string(store.turns("s").view());
        EXPECT_TRUE(turn.is_durable());
        EXPECT_EQ(turn.durable_seq(), stage->recorder.seq(Kind::PlanEnded, ""));
    });
    stage->engine.run_until_idle();
    EXPECT_EQ(Json(seen)["turns"][0]["durable"].boolean(), true);
    EXPECT_EQ(Json(seen)["turns"][0]["narrative"].string(), "told");
    const Json ended = stage->recorder.one(Kind::TurnEnded).body;
    EXPECT_EQ(ended["turn"].integer(), 1);
    EXPECT_EQ(ended["durable"].boolean(), true);
}

TEST_F(KeptSession, LazyTurnEndsBeforeItIsStored) {
    open({.durability = NAR_DURABILITY_LAZY});
    EXPECT_EQ(play("adds"), "1 not durable");
    stage.reset();
    EXPECT_THAT(turns(), ElementsAre("prompt adds completed"));
}

TEST_F(KeptSession, StoreHasTheFinalStateOfEachTurn) {
    // More data than the store writes between two snapshots.
    folder.says("grows", {patch(R"({"big":{"x":")" + std::string(30'000, 'x') + R"("}})"),
                          patch(R"({"big":null,"grown":{"y":1}})"), kDone});
    open();
    std::vector<std::string> states;
    for (const char* prompt : {"adds", "grows", "grows", "grows", "removes", "grows", "fails"}) {
        play(prompt);
        states.push_back(state());
    }
    for (size_t i = 0; i < states.size(); ++i) EXPECT_EQ(stored_state(i + 1), states[i]) << i + 1;
    EXPECT_EQ(stored_state(), states.back());
    const Json all(store.turns("s").view());
    EXPECT_EQ(all["turns"][1]["stateHash"].string(), all["turns"][2]["stateHash"].string());
    EXPECT_NE(all["turns"][0]["stateHash"].string(), all["turns"][1]["stateHash"].string());
}

TEST_F(KeptSession, HostPatchesFormTheirOwnTurn) {
    open();
    stage->session.patch_state(R"({"one":1})");
    stage->session.patch_state(R"({"two":2})");
    play("adds");
    stage->session.patch_state(R"({"three":null,"one":3})");
    const std::string last = state();
    stage.reset();
    EXPECT_THAT(turns(),
                ElementsAre("host  completed", "prompt adds completed", "host  completed"));
    EXPECT_EQ(stored_state(), last);
    EXPECT_EQ(stored_state(1), R"({"one":1,"two":2})");
}

TEST_F(KeptSession, PatchDuringAPendingWriteFollowsTheTurn) {
    open();
    stage->recorder.on_record = [&](const Record& record) {
        if (record.kind != Kind::PlanEnded) return;
        nar_engine_post(
            stage->engine.raw(),
            [](void* session) { static_cast<Session*>(session)->patch_state(R"({"late":1})"); },
            nullptr, &stage->session, nullptr);
    };
    EXPECT_EQ(play("adds"), "1 durable");
    stage->recorder.on_record = {};
    EXPECT_EQ(play("adds"), "3 durable");
    EXPECT_EQ(stored_state(1), R"({"a":{"b":1},"n":[1,2]})");
    EXPECT_EQ(stored_state(2), R"({"a":{"b":1},"n":[1,2],"late":1})");
}

TEST_F(KeptSession, TurnWritesOnlyItsChanges) {
    const std::string large = R"({"large":")" + std::string(2'000'000, 'x') + R"("})";
    open({.state = large});
    for (int turn = 0; turn < 8; ++turn) play("adds");
    const auto bytes = std::filesystem::file_size(store.path()) +
                       std::filesystem::file_size(store.path() + "-wal");
    // The state is in the file once, or twice until SQLite reuses its part of the write-ahead log.
    EXPECT_LT(bytes, 3 * large.size());
}

TEST_F(KeptSession, EveryHostPatchIsStoredSoon) {
    open();
    play("adds");
    for (const char* key : {"one", "two", "three"}) {
        stage->session.patch_state(R"({")" + std::string(key) + R"(": [1, 2]})");
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(300);
        while (stored_state() != state()) {
            ASSERT_LT(std::chrono::steady_clock::now(), deadline) << stored_state();
            stage->engine.run_for(std::chrono::microseconds(100));
        }
    }
}

TEST_F(KeptSession, PatchWithWhiteSpaceIsStoredCorrectly) {
    open();
    stage->session.patch_state(R"({ "a" : [1, 2] , "t" : ")" + std::string(80'000, 'x') + "\"}");
    stage->session.patch_state(R"({"t": null})");
    EXPECT_EQ(play("adds"), "2 durable");
    EXPECT_EQ(stored_state(1), R"({"a":[1,2]})");
}

TEST_F(KeptSession, NullIsStored) {
    open();
    stage->session.set_state("none", "null");
    stage->session.set_state("deep", R"({"a":null,"b":[null]})");
    const std::string before = state();
    open();
    EXPECT_EQ(state(), before);
    EXPECT_EQ(before, R"({"none":null,"deep":{"b":[null],"a":null}})");
}

TEST_F(KeptSession, PlansAndScriptsAreTurns) {
    open();
    stage->run(plan_of({entry("t", folder / "adds")}));
    stage->session.run_script(
        "PRINT 1", "", "", [](std::string_view) {}, [](const ScriptEnd&) {});
    stage->engine.run_until_idle();
    EXPECT_THAT(turns(), ElementsAre("plan  completed", "script  completed"));
}

TEST_F(KeptSession, FallbackHasItsOwnStatus) {
    open();
    play("fails");
    EXPECT_THAT(turns(), ElementsAre("prompt fails fallback"));
}

TEST_F(KeptSession, SessionCanBeOpenOnlyOnce) {
    open();
    play("adds");
    EngineOptions engine_options;
    Engine other(engine_options);
    try {
        Session(other, {.id = "s", .store = store.path()});
        FAIL() << "it was opened twice";
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), NAR_BUSY);
        EXPECT_EQ(error.code(), "STORE_LOCKED");
    }
    EXPECT_NO_THROW(Session(other, {.id = "t", .store = store.path()}));
    open();
    EXPECT_EQ(play("adds"), "2 durable") << "the previous session released it";
}

TEST_F(KeptSession, MustBeNewRefusesAnExistingSession) {
    open();
    EngineOptions engine_options;
    Engine other(engine_options);
    try {
        Session(other, {.id = "s", .store = store.path(), .must_be_new = true});
        FAIL() << "the store has it";
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), NAR_INVALID_ARGUMENT);
        EXPECT_EQ(error.code(), "SESSION_EXISTS");
    }
    EXPECT_NO_THROW(Session(other, {.id = "t", .store = store.path(), .must_be_new = true}));
}

TEST_F(KeptSession, UnfinishedTurnIsRunningThenCancelled) {
    open();
    play("adds");
    folder.fifo("never");
    folder.tool("hangs",
                "echo '" + patch(R"({"half":1})") + "'\nread -r never < " + (folder / "never"));
    stage->session.prompt("hangs");
    while (stage->recorder.of(Kind::ToolEvent, "t").size() < 3) stage->engine.run_once();
    EXPECT_THAT(turns(), ElementsAre("prompt adds completed", "prompt hangs running"));
    EXPECT_THROW(store.state("s", 2), Error);
    stage.reset();
    EXPECT_THAT(turns(), ElementsAre("prompt adds completed", "prompt hangs cancelled"));
}

TEST_F(KeptSession, SequenceNumbersOfAnInterruptedTurnAreNotReused) {
    const pid_t host = ::fork();
    if (host == 0) {
        open();
        stage->session.prompt("adds");
        while (stage->recorder.of(Kind::ToolEnded).empty()) stage->engine.run_once();
        stage->session.turns();  // waits until the store has written everything so far
        ::raise(SIGKILL);
    }
    ASSERT_EQ(::waitpid(host, nullptr, 0), host);
    open();
    play("adds");
    EXPECT_GT(stage->recorder.records.front().seq, 9u)
        << "prompt, plan, pending, …, end of the tool";
}

TEST_F(KeptSession, HistoryCountsDroppedPatchesAcrossRestarts) {
    EngineOptions options;
    options.limits.emplace().history_patches = 2;
    auto opened = [&] {
        stage.reset();
        stage.emplace(options, SessionOptions{.id = "s", .store = store.path()});
        return std::string(stage->session.history().view());
    };
    const auto patch_twice = [&] {
        for (const char* patch : {R"({"n":1})", R"({"n":2})"}) stage->session.patch_state(patch);
    };
    opened();
    patch_twice();
    opened();
    // This large patch is followed by a snapshot, so earlier patches are no longer read.
    stage->session.patch_state(R"({"long":")" + std::string(2'000'000, 'x') + "\"}");
    opened();
    patch_twice();
    const std::string before(stage->session.history().view());
    EXPECT_EQ(Json(before)["dropped"].integer(), 3);
    EXPECT_EQ(opened(), before);
}

TEST_F(KeptSession, DescriptionWithoutAValueIsStored) {
    open();
    stage->session.register_state_metadata("gold", {.description = "coins"});
    open();
    EXPECT_THAT(std::string(stage->session.get_all_state_metadata().view()), HasSubstr("coins"));
}

TEST_F(KeptSession, DamagedStoreIsReportedAndTurnsAreStillStored) {
    open();
    play("adds");
    open();
    {
        // Simulates a lost patch: merging the stored patches gives a different state.
        const std::string command =
            "python3 -c \"import sqlite3; s = sqlite3.connect('" + store.path() +
            "'); s.execute('UPDATE beginning SET state = ?', ('{\\\"x\\\":1}',)); s.commit()\"";
        ASSERT_EQ(std::system(command.c_str()), 0);
    }
    stage->session.patch_state(R"({"long":")" + std::string(2'000'000, 'x') + "\"}");
    EXPECT_EQ(play("removes"), "3 durable");
    for (int i = 0; i < 1000 && stage->recorder.of(Kind::Warning).empty(); ++i) {
        stage->engine.run_for(std::chrono::milliseconds(10));
    }
    EXPECT_EQ(stage->recorder.one(Kind::Warning).body["code"].string(), "STORE_DAMAGED");
    EXPECT_EQ(play("adds"), "4 durable");
}

// Waiting turns that the host cancels, or that the end of the session cancels.
class CancelledTurns : public KeptSession, public ::testing::WithParamInterface<bool> {};

TEST_P(CancelledTurns, AreStoredAndCallEveryHandler) {
    open();
    std::vector<std::string> told;
    for (const char* prompt : {"adds", "removes"}) {
        stage->session.prompt(prompt, [&told, prompt](Turn turn) {
            told.push_back(prompt + std::string(turn.outcome() == Outcome::Cancelled
                                                    ? " cancelled"
                                                    : " not cancelled"));
        });
    }
    if (GetParam()) {
        stage->session.cancel();
        stage->engine.run_until_idle();
    }
    stage.reset();
    EXPECT_THAT(told, ElementsAre("adds cancelled", "removes cancelled"));
    EXPECT_THAT(turns(), ElementsAre("prompt adds cancelled", "prompt removes cancelled"));
}

INSTANTIATE_TEST_SUITE_P(, CancelledTurns, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "ByTheHost" : "ByTheEnd"; });

// ---- undo and branches

class Branches : public KeptSession {
protected:
    std::vector<std::string> all() const {
        const Session& session = stage->session;
        return {state(), std::string(session.history().view()),
                std::string(session.assets().view()),
                std::string(session.get_all_state_metadata().view())};
    }
    std::vector<std::string> parents() const {
        std::vector<std::string> found;
        const Text text = store.turns("s");
        for (const Json& turn : Json(text.view())["turns"].elements()) {
            found.push_back(turn["parent"].text() + ">" + turn["id"].text());
        }
        return found;
    }
    nar_status status_of_going(uint64_t turn) {
        try {
            stage->session.go_to(turn);
        } catch (const Error& error) {
            return error.status();
        }
        return NAR_OK;
    }
};

TEST_F(Branches, GoToRestoresEachTurnExactly) {
    open({.state = R"({"first":1})"});
    std::vector<std::vector<std::string>> known{all()};
    for (const char* prompt : {"adds", "paints", "removes", "adds"}) {
        play(prompt);
        known.push_back(all());
    }
    stage->session.set_state("gold", "3", StateMetadata{.description = "coins"});
    known.push_back(all());
    for (const size_t turn : {2u, 5u, 0u, 4u, 1u, 3u, 5u}) {
        stage->session.go_to(turn == 0 ? NAR_TURN_BEGINNING : turn);
        EXPECT_EQ(all(), known[turn]) << turn;
    }
    stage->session.go_to(3);
    open();
    EXPECT_EQ(all(), known[3]) << "the next process starts there, too";
}

TEST_F(Branches, GoToTheCurrentTurnIsRefusedAndNamesTheBeginning) {
    open();
    play("adds");
    const auto expect_refused = [](const auto& go_to) {
        try {
            go_to();
            FAIL();
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), NAR_INVALID_ARGUMENT);
            EXPECT_THAT(error.what(), HasSubstr("NAR_TURN_BEGINNING"));
        }
    };
    expect_refused([&] { stage->session.go_to(NAR_TURN_CURRENT); });
    stage.reset();
    expect_refused([&] { store.go_to("s", NAR_TURN_CURRENT); });
}

// Plans and patches after the prompt are undone with it.
TEST_F(Branches, PreviousTurnIsTheOneBeforeTheLastPrompt) {
    open();
    play("adds");
    play("removes");
    stage->run(plan_of({}));
    stage->session.patch_state(R"({"later":1})");
    stage->session.go_to(NAR_TURN_PREVIOUS);
    EXPECT_EQ(stage->recorder.one(Kind::SessionMoved).body["turn"].integer(), 1);
    stage->session.go_to(NAR_TURN_PREVIOUS);
    EXPECT_EQ(state(), "{}");
    EXPECT_THROW(stage->session.go_to(NAR_TURN_PREVIOUS), Error);
    EXPECT_THROW(stage->session.again(NAR_TURN_PREVIOUS, "", [](Turn) {}), Error);
}

TEST_F(Branches, NextTurnAfterGoToIsASibling) {
    open();
    play("adds");
    play("removes");
    stage->session.go_to(1);
    play("paints");
    stage->session.patch_state("{}");
    stage->session.go_to(NAR_TURN_BEGINNING);
    EXPECT_EQ(state(), "{}");
    play("adds");
    EXPECT_THAT(parents(), ElementsAre("null>1", "1>2", "1>3", "3>4", "null>5"));
    EXPECT_EQ(stored_state(2), R"({"a":{"c":"x"},"n":[1,2]})") << "nothing is overwritten";
}

TEST_F(Branches, SinksAreNotifiedOfEachGoTo) {
    open();
    play("paints");
    play("adds");
    stage->session.go_to(1);
    stage->session.go_to(NAR_TURN_BEGINNING);
    std::vector<std::string> moves;
    for (const Record& moved : stage->recorder.of(Kind::SessionMoved)) moves.push_back(moved.text);
    EXPECT_THAT(moves, ElementsAre(R"({"turn":1,"narrative":"told","choices":["go"]})",
                                   R"({"turn":0,"narrative":"","choices":[]})"));
}

TEST_F(Branches, HostTurnKeepsTheNarrativeAndChoices) {
    open();
    play("paints");
    stage->session.patch_state("{}");
    EXPECT_EQ(stage->session.current().view(), R"({"turn":2,"narrative":"told","choices":["go"]})");
    play("adds");
    stage->session.go_to(2);
    EXPECT_EQ(stage->recorder.one(Kind::SessionMoved).text,
              R"({"turn":2,"narrative":"told","choices":["go"]})");
}

TEST_F(Branches, EndingOfATurnIsRestored) {
    ScriptedNarrator ends([](const Json&) {
        return plan_of({}, R"("narrative":"told","metadata":{"ending":"Away"})");
    });
    open({.narrator = ends.narrator()});
    play("go");
    open({.narrator = ends.narrator()});
    EXPECT_EQ(Json(stage->session.current().view())["ending"].string(), "Away");
    stage->session.go_to(NAR_TURN_BEGINNING);
    stage->session.go_to(1);
    EXPECT_THAT(stage->recorder.of(Kind::SessionMoved).back().text, HasSubstr("Away"));
}

TEST_F(Branches, TurnThatDoesNotSucceedKeepsTheChoicesBeforeIt) {
    folder.write("story/story.toml", "title = \"t\"\n[opening]\nchoices = [\"begin\"]\n");
    folder.write("story/prompts.json", R"({"prompts":[]})");
    const std::string story = folder / "story";
    const auto offered = [&](uint64_t turn) {
        stage->recorder.records.clear();
        stage->session.go_to(turn);
        return stage->recorder.one(Kind::SessionMoved).body["choices"].text();
    };
    open({.story = story});
    play("fails");
    EXPECT_EQ(offered(1), R"(["begin"])");
    EXPECT_EQ(offered(NAR_TURN_BEGINNING), R"(["begin"])");
    play("paints");
    open({.story = story});
    play("fails");
    EXPECT_EQ(offered(3), R"(["go"])");
}

TEST_F(Branches, GoToAcceptsOnlyFinishedTurns) {
    open();
    EXPECT_EQ(status_of_going(1), NAR_NOT_FOUND);
    play("adds");
    stage->session.prompt("removes");
    EXPECT_EQ(status_of_going(1), NAR_BUSY);
    stage->engine.run_until_idle();
    EXPECT_EQ(status_of_going(1), NAR_OK);
    Engine other;
    Session without(other);
    try {
        without.go_to(1);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), NAR_UNSUPPORTED);
    }
}

TEST_F(Branches, GoToRestoresTheFallbackCounter) {
    folder.write("story/story.toml", "title = \"t\"\n[fallback]\ntemplates = [\"one\", \"two\"]\n");
    folder.write("story/prompts.json", R"({"prompts":[],"unmatched":{"narrative":"?"}})");
    const std::string story = folder / "story";
    open({.story = story});
    auto told = [&] {
        play("fails");
        return stage->recorder.of(Kind::Narrative).back().body["text"].string();
    };
    EXPECT_EQ(told(), "one");
    EXPECT_EQ(told(), "two");
    stage->session.go_to(1);
    EXPECT_EQ(told(), "two");
}

// Plays, goes to turns and reopens the session in random order, and compares with a simple model.
TEST_F(Branches, RandomMovesMatchTheModel) {
    for (int value = 0; value < 5; ++value) {
        folder.says("set" + std::to_string(value),
                    {patch(R"({"last":)" + std::to_string(value) + R"(,"v)" +
                           std::to_string(value) + R"(":{"n":)" + std::to_string(value) + "}}"),
                     patch(R"({"v)" + std::to_string((value + 2) % 5) + R"(":null})"), kDone});
    }
    std::mt19937 random(3);
    open();
    std::vector<std::string> model{state()};  // by turn
    size_t at = 0;
    for (int step = 0; step < 200; ++step) {
        const auto act = random() % 10;
        if (act < 4) {
            play("set" + std::to_string(random() % 5));
            model.push_back(state());
            at = model.size() - 1;
        } else if (act < 9) {
            at = random() % model.size();
            stage->session.go_to(at == 0 ? NAR_TURN_BEGINNING : at);
        } else {
            open();
        }
        ASSERT_EQ(state(), model[at]) << "step " << step;
    }
    for (size_t turn = 1; turn < model.size(); ++turn) EXPECT_EQ(stored_state(turn), model[turn]);
}

// ---- the store cannot be written

class UnwritableStore : public KeptSession {
protected:
    std::vector<std::string> warnings() const {
        std::vector<std::string> codes;
        for (const Record& warning : stage->recorder.of(Kind::Warning)) {
            codes.push_back(warning.body["code"].string());
        }
        return codes;
    }
};

TEST_F(UnwritableStore, RemovedFileIsReportedOnce) {
    open();
    EXPECT_EQ(play("adds"), "1 durable");
    std::filesystem::remove(store.path());
    EXPECT_EQ(play("paints"), "0 not durable");
    EXPECT_EQ(play("removes"), "0 not durable");
    EXPECT_EQ(state(), R"({"a":{"c":"x"},"n":[1,2]})");
    EXPECT_THAT(warnings(), ElementsAre("STORE_REMOVED"));
}

// The disk is full for this process: its files can have only 1 KiB. What it prints may be lost.
class FullDisk : public UnwritableStore {
protected:
    FullDisk() {
        EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
        open();
        EXPECT_EQ(play("adds"), "1 durable");
        fill();
        EXPECT_EQ(play("paints"), "2 not durable");
        EXPECT_EQ(play("removes"), "3 not durable");
        EXPECT_EQ(state(), R"({"a":{"c":"x"},"n":[1,2]})");
        EXPECT_THAT(warnings(), ElementsAre("STORE_FULL"));
    }
    ~FullDisk() override {
        make_room();
        std::signal(SIGXFSZ, handled_);
    }
    void fill() { limit(1024); }
    void make_room() { limit(before_.rlim_cur); }

    const std::vector<std::string> all_turns{"prompt adds completed", "prompt paints completed",
                                             "prompt removes completed"};

private:
    void limit(rlim_t bytes) {
        const rlimit limit{bytes, before_.rlim_max};
        EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    }
    rlimit before_{};
    void (*handled_)(int) = std::signal(SIGXFSZ, SIG_IGN);
};

TEST_F(FullDisk, NextTurnAlsoStoresTheTurnsBeforeIt) {
    make_room();
    EXPECT_EQ(play("adds"), "4 durable");
    fill();
    EXPECT_EQ(play("adds"), "5 not durable");
    stage->session.patch_state(R"({"host":1})");
    make_room();
    EXPECT_EQ(play("removes"), "7 durable");
    EXPECT_THAT(warnings(),
                ElementsAre("STORE_FULL", "STORE_RECOVERED", "STORE_FULL", "STORE_RECOVERED"));
    const std::string last = state();
    open();
    EXPECT_EQ(state(), last);
    EXPECT_EQ(turns().size(), 7u);
}

TEST_F(FullDisk, MissingTurnsAreStoredWhenTheyAreListed) {
    EXPECT_THROW(stage->session.turns(), Error);
    make_room();
    EXPECT_EQ(Json(stage->session.turns().view())["turns"].elements().size(), 3u);
    stage->session.go_to(1);
    EXPECT_EQ(state(), R"({"a":{"b":1},"n":[1,2]})");
}

TEST_F(FullDisk, MissingTurnsAreStoredWhenTheSessionEnds) {
    make_room();
    stage.reset();
    EXPECT_EQ(turns(), all_turns);
}

TEST_F(FullDisk, TurnsMissingAtTheEndAreLost) {
    stage.reset();
    make_room();
    EXPECT_THAT(turns(), ElementsAre(all_turns.front()));
    open();
    EXPECT_EQ(play("adds"), "2 durable");
}

TEST_F(UnwritableStore, FailureIsReportedAtTheLatestAtTheEnd) {
    std::vector<std::string> lines;
    EngineOptions options;
    options.log = [&](const LogLine& line) { lines.emplace_back(line.message); };
    {
        Engine engine(options);
        Session session(engine, {.id = "s", .store = store.path()});
        std::filesystem::remove(store.path());
        session.patch_state(R"({"lost":1})");
    }
    EXPECT_THAT(lines, ElementsAre(HasSubstr("its turns are gone with the file")));
}

TEST_F(UnwritableStore, InvalidFileIsRefusedWhenOpened) {
    auto code_of_opening = [&] {
        try {
            open();
        } catch (const Error& error) {
            EXPECT_THAT(std::string(error.message()), HasSubstr(store.path()));
            return std::string(error.code());
        }
        return std::string("none");
    };
    folder.write("saves.db",
                 "a text file and not a database, but large enough to be taken for one");
    EXPECT_EQ(code_of_opening(), "STORE_DAMAGED");
    std::filesystem::remove(store.path());
    std::filesystem::create_directory(store.path());
    EXPECT_EQ(code_of_opening(), "STORE_IO");
}

TEST_F(KeptSession, TurnsCanBeNamedDuringPlay) {
    open();
    for (const char* name : {"second", "first", "last"}) {
        play("adds");
        store.set_name("s", name);
    }
    store.set_name("s", "first", 1);
    const Text text = stage->session.turns();
    std::vector<std::string> names;
    for (const Json& turn : Json(text.view())["turns"].elements()) {
        names.push_back(turn["names"].text());
    }
    EXPECT_THAT(names, ElementsAre(R"(["first","second"])", "[]", R"(["last"])"));
}

template <typename Call>
nar_status status_of(Call&& call) {
    try {
        call();
    } catch (const Error& error) {
        return error.status();
    }
    return NAR_OK;
}

TEST_F(KeptSession, NamesThatCommandsCannotReadAreRefused) {
    open();
    play("adds");
    for (const char* name :
         {"3", "03.", "99999999999999999999", " a", "a ", "a  b", "a\tb", "a\n"}) {
        EXPECT_EQ(status_of([&] { store.set_name("s", name, 1); }), NAR_INVALID_ARGUMENT) << name;
    }
    for (const char* name : {"a b", "3 doors", "1.5", "Tür"}) store.set_name("s", name, 1);
    EXPECT_EQ(Json(stage->session.turns().view())["turns"].elements()[0]["names"].text(),
              R"(["1.5","3 doors","Tür","a b"])");
}

TEST_F(KeptSession, UnknownSessionsTurnsAndNamesAreRefused) {
    EXPECT_THROW(store.sessions(), Error);
    open();
    EXPECT_EQ(store.sessions().view().substr(0, 10), R"([{"id":"s")");
    EXPECT_EQ(status_of([&] { store.turns("nobody"); }), NAR_NOT_FOUND);
    EXPECT_EQ(status_of([&] { store.state("s", 9); }), NAR_NOT_FOUND);
    EXPECT_EQ(status_of([&] { store.set_name("nobody", "name", 1); }), NAR_NOT_FOUND);
    EXPECT_EQ(status_of([&] { store.set_name("s", "name", 9); }), NAR_NOT_FOUND);
    EXPECT_EQ(status_of([&] { store.set_name("s", "name"); }), NAR_INVALID_ARGUMENT);
    EXPECT_EQ(status_of([&] { store.set_name("s", "", 1); }), NAR_INVALID_ARGUMENT);
    EXPECT_EQ(status_of([&] { store.set_name("s", "\xFF", 1); }), NAR_INVALID_ARGUMENT);
    EXPECT_EQ(stored_state(), "{}");
}

}  // namespace
