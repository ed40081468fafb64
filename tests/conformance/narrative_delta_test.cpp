// SPDX-License-Identifier: Apache-2.0
// Narratives that are told in pieces while the narrator writes them, and narratives that are taken
// back.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>

#include <chrono>
#include <csignal>

#include "conformance/narrators.hpp"

namespace {

using namespace narratoria;
using namespace narratoria::test;
using namespace std::string_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// What the player sees: "+text" a piece, "text" a narrative, "-" taken back; and reports of usage.
std::vector<std::string> shown(const Recorder& recorder) {
    std::vector<std::string> out;
    for (const Record& each : recorder.records) {
        if (each.kind == Kind::NarrativeDelta) out.push_back("+" + each.body["text"].string());
        if (each.kind == Kind::Narrative) out.push_back(each.body["text"].string());
        if (each.kind == Kind::NarrativeRetracted) out.emplace_back("-");
        if (each.kind == Kind::NarratorUsage) out.push_back(each.text);
    }
    return out;
}

std::string plan_without_narrative(const std::string& members = "") {
    return R"({"requestId":"p","tools":[])" + members + "}";
}

class NarrativeDelta : public ::testing::Test {
protected:
    Stage& open(Times times = {}, std::string_view store = {}) {
        stage.reset();
        SessionOptions options;
        options.narrator = narrator.narrator();
        options.times = times;
        if (!store.empty()) {
            options.id = "s";
            options.store = store;
        }
        stage.emplace(EngineOptions{}, options);
        stage->folder.says("works", {kDone});
        stage->folder.says("fails", {kFailed});
        return *stage;
    }
    // The n-th question of the turn gets the n-th of these; the last one is repeated.
    void answers_with(std::vector<std::function<void(const NarratorReply&)>> all) {
        narrator.on_asked = [this, all = std::move(all)] {
            all[std::min(narrator.replies.size(), all.size()) - 1](narrator.replies.back());
        };
    }
    void drive_until(const std::function<bool()>& condition) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(300);
        while (!condition()) {
            ASSERT_LT(std::chrono::steady_clock::now(), deadline);
            stage->engine.run_once();
        }
    }
    std::vector<std::string> warnings() const {
        std::vector<std::string> out;
        for (const Record& each : stage->recorder.of(Kind::Warning)) {
            out.push_back(each.body["message"].string());
        }
        return out;
    }

    PatientNarrator narrator;
    std::optional<Stage> stage;
};

TEST_F(NarrativeDelta, PiecesReachSinksBeforeTheReply) {
    open();
    std::optional<Ended> ended;
    stage->session.prompt("go", keep(ended));
    drive_until([&] { return !narrator.replies.empty(); });
    EXPECT_TRUE(narrator.replies[0].delta("The door "));
    drive_until([&] { return shown(stage->recorder).size() == 1; });
    EXPECT_TRUE(narrator.replies[0].delta("creaks."));
    drive_until([&] { return shown(stage->recorder).size() == 2; });
    EXPECT_FALSE(ended);
    narrator.replies[0].plan(plan_without_narrative());
    stage->engine.run_until_idle();
    EXPECT_THAT(shown(stage->recorder), ElementsAre("+The door ", "+creaks.", "The door creaks."));
    EXPECT_EQ(ended->narrative, "The door creaks.");
    EXPECT_EQ((*ended->result)["narrative"].string(), "The door creaks.");
}

TEST_F(NarrativeDelta, NarrativeOfThePlanReplacesThePieces) {
    open();
    answers_with({[](const NarratorReply& reply) {
        reply.delta("The door");
        reply.plan(tells("A gate."));
    }});
    EXPECT_EQ(turn(*stage, "go").narrative, "A gate.");
    EXPECT_THAT(shown(stage->recorder), ElementsAre("+The door", "A gate."));
}

TEST_F(NarrativeDelta, PieceMayEndWithinACharacter) {
    open();
    std::optional<Ended> ended;
    stage->session.prompt("go", keep(ended));
    drive_until([&] { return !narrator.replies.empty(); });
    const std::string text = "Très 🕯";
    for (size_t i = 0; i < text.size(); ++i) {
        narrator.replies[0].delta(text.substr(i, 1));
        stage->engine.run_once();
    }
    narrator.replies[0].delta("\xFF\xC3");
    narrator.replies[0].plan(plan_without_narrative());
    stage->engine.run_until_idle();
    EXPECT_EQ(ended->narrative, "Très 🕯\uFFFD\uFFFD");
    for (const std::string& each : shown(stage->recorder)) {
        EXPECT_THAT(Json(json_text(each)).string(), each) << "each piece is valid UTF-8";
    }
}

TEST_F(NarrativeDelta, IsRetractedIfNoPlanFollows) {
    open();
    answers_with({[](const NarratorReply& reply) {
                      reply.delta("One.");
                      reply.fail("it broke");
                  },
                  [](const NarratorReply& reply) {
                      reply.delta("Two.");
                      reply.plan("{");
                  },
                  [](const NarratorReply& reply) {
                      reply.delta("Three.");
                      reply.plan(plan_without_narrative());
                  }});
    EXPECT_EQ(turn(*stage, "go").narrative, "Three.");
    EXPECT_THAT(shown(stage->recorder),
                ElementsAre("+One.", "-", "+Two.", "-", "+Three.", "Three."));
}

TEST_F(NarrativeDelta, StaysIfItsPlanFails) {
    open();
    answers_with({[](const NarratorReply& reply) {
                      reply.delta("You pull.");
                      reply.plan(plan_of({entry("a", "fails")}));
                  },
                  [](const NarratorReply& reply) { reply.plan(tells("It is stuck.")); }});
    EXPECT_EQ(turn(*stage, "go").narrative, "You pull.\n\nIt is stuck.");
    EXPECT_THAT(shown(stage->recorder), ElementsAre("+You pull.", "You pull.", "It is stuck."));
}

TEST_F(NarrativeDelta, FallbackFollowsTheRetraction) {
    open();
    answers_with({[](const NarratorReply& reply) {
        reply.delta("Once.");
        reply.fail("it broke");
    }});
    const Ended ended = turn(*stage, "go");
    EXPECT_EQ(ended.outcome, Outcome::Fallback);
    EXPECT_THAT(shown(stage->recorder), ElementsAre("+Once.", "-", "+Once.", "-", "+Once.", "-",
                                                    "+Once.", "-", "+Once.", "-", ended.narrative));
}

TEST_F(NarrativeDelta, CancelledTurnRetractsIt) {
    open();
    answers_with({[&](const NarratorReply& reply) { reply.delta("Once"); }});
    std::optional<Ended> ended;
    stage->session.prompt("go", keep(ended));
    drive_until([&] { return !shown(stage->recorder).empty(); });
    stage->session.cancel();
    stage->engine.run_until_idle();
    EXPECT_EQ(ended->outcome, Outcome::Cancelled);
    EXPECT_EQ(ended->narrative, "");
    EXPECT_THAT(shown(stage->recorder), ElementsAre("+Once", "-"));
    EXPECT_EQ(stage->recorder.records.back().kind, Kind::TurnEnded);
}

TEST_F(NarrativeDelta, WhatAContinuedPlanToldStays) {
    open();
    answers_with({[](const NarratorReply& reply) {
                      reply.plan(plan_of({entry("a", "works")},
                                         R"("narrative":"You look.","continue":true)"));
                  },
                  [](const NarratorReply& reply) {
                      reply.delta("A cat?");
                      reply.fail("it broke");
                  },
                  [](const NarratorReply& reply) {
                      reply.delta("A dog.");
                      reply.plan(plan_without_narrative());
                  }});
    EXPECT_EQ(turn(*stage, "go").narrative, "You look.\n\nA dog.");
    EXPECT_THAT(shown(stage->recorder),
                ElementsAre("You look.", "+A cat?", "-", "+A dog.", "A dog."));
}

// ---- limits

TEST_F(NarrativeDelta, TimeBetweenPiecesIsLimited) {
    Times times;
    times.narrator_ms = NAR_NONE;
    times.narrator_first_ms = NAR_NONE;
    times.narrator_between_ms = 20;
    open(times);
    answers_with({[](const NarratorReply& reply) { reply.delta("And"); },
                  [](const NarratorReply& reply) { reply.plan(tells("There.")); }});
    EXPECT_EQ(turn(*stage, "go").narrative, "There.");
    EXPECT_THAT(warnings(), ElementsAre(HasSubstr("did not continue its narrative within 20 ms "
                                                  "(narrator_between_ms of [times])")));
    EXPECT_THAT(shown(stage->recorder), ElementsAre("+And", "-", "There."));
}

TEST_F(NarrativeDelta, EndlessNarrativeIsAFailure) {
    open();
    answers_with({[](const NarratorReply& reply) {
                      for (int i = 0; i < 17; ++i) reply.delta(std::string(64 * 1024, ' '));
                      reply.plan(tells("Too late."));
                  },
                  [](const NarratorReply& reply) { reply.plan(tells("There.")); }});
    EXPECT_EQ(turn(*stage, "go").narrative, "There.");
    EXPECT_THAT(warnings(), ElementsAre(HasSubstr("its narrative is longer than 1 MiB")));
}

TEST_F(NarrativeDelta, ReplyAfterTooManyPiecesIsNotTheNextOnes) {
    open();
    answers_with({[](const NarratorReply& reply) {
                      for (int i = 0; i < 16; ++i) reply.delta(std::string(64 * 1024, ' '));
                      reply.delta("\xC3");  // exceeds the limit when the reply ends it
                      reply.plan(tells("Too late."));
                  },
                  [](const NarratorReply& reply) { reply.plan(tells("There.")); }});
    EXPECT_EQ(turn(*stage, "go").narrative, "There.");
    EXPECT_EQ(stage->recorder.of(Kind::PlanStarted).size(), 1u);
    EXPECT_EQ(narrator.requests.size(), 2u);
}

TEST_F(NarrativeDelta, OnlyAnOpenRequestTakesPieces) {
    open();
    const auto delta = [&](uint64_t token) {
        return nar_narrator_delta(stage->engine.raw(), token, NAR_STR("more"), nullptr);
    };
    EXPECT_EQ(delta(0), NAR_GONE);
    EXPECT_EQ(delta(12345), NAR_GONE);
    nar_status after_reply = NAR_OK;
    answers_with({[&](const NarratorReply& reply) {
        reply.plan(tells("There."));
        after_reply = delta(reply.token());
    }});
    turn(*stage, "go");
    EXPECT_EQ(after_reply, NAR_STALE);
    EXPECT_EQ(delta(narrator.replies[0].token()), NAR_GONE);
    EXPECT_THAT(shown(stage->recorder), ElementsAre("There."));
}

// ---- stored sessions

TEST_F(NarrativeDelta, PiecesAreReplayed) {
    Folder folder;
    open({}, folder / "saves.db");
    answers_with({[](const NarratorReply& reply) {
                      reply.delta("Wrong.");
                      reply.plan("{");
                  },
                  [](const NarratorReply& reply) {
                      reply.delta("Right");
                      reply.usage(R"({"outputTokens":2})");
                      reply.delta(".");
                      reply.plan(plan_without_narrative());
                  },
                  [](const NarratorReply& reply) { reply.delta("Cut"); }});
    EXPECT_EQ(turn(*stage, "go").narrative, "Right.");
    stage->session.prompt("stop");
    drive_until([&] { return shown(stage->recorder).back() == "+Cut"; });
    stage->session.cancel();
    stage->engine.run_until_idle();
    const std::vector<std::string> before = shown(stage->recorder);
    EXPECT_THAT(before, ElementsAre("+Wrong.", "-", R"({"outputTokens":2})", "+Right.", "Right.",
                                    "+Cut", "-"));

    stage.reset();
    stage.emplace(EngineOptions{},
                  SessionOptions{.id = "s", .store = folder / "saves.db", .replays = true});
    for (const uint64_t each : {1u, 2u}) {
        stage->session.replay(each, [](const nar_replayed& end) { EXPECT_TRUE(end.is_equal); });
        stage->engine.run_until_idle();
    }
    EXPECT_EQ(shown(stage->recorder), before);
}

TEST_F(NarrativeDelta, ResumedTurnDoesNotRepeatTheCutNarrative) {
    Folder folder;
    const pid_t host = ::fork();
    if (host == 0) {
        open({}, folder / "saves.db");
        answers_with({[](const NarratorReply& reply) { reply.delta("Onc"); }});
        stage->session.prompt("go");
        while (shown(stage->recorder).empty()) stage->engine.run_once();
        stage->session.turns();  // waits until the store has written everything so far
        ::raise(SIGKILL);
    }
    ASSERT_EQ(::waitpid(host, nullptr, 0), host);
    open({}, folder / "saves.db");
    answers_with({[](const NarratorReply& reply) {
        reply.delta("Twice.");
        reply.plan(plan_without_narrative());
    }});
    std::optional<Ended> ended;
    stage->session.resume(1, 0, keep(ended));
    stage->engine.run_until_idle();
    EXPECT_EQ(ended->narrative, "Twice.");
    EXPECT_THAT(shown(stage->recorder), ElementsAre("+Twice.", "Twice."));
}

}  // namespace
