// SPDX-License-Identifier: Apache-2.0
// Stored turns that run again: rerun in part, resumed after an interruption, and replayed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
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
using ::testing::IsEmpty;

// Each tool appends its name to "runs", and patches the number of its runs into the state.
class PlayedAgain : public ::testing::Test {
protected:
    PlayedAgain()
        : narrator([this](const Json& request) {
              const std::string name = request["prompt"]["text"].string();
              const auto plan = plans.find(name);
              return plan != plans.end() ? plan->second : plan_of({tool(name)});
          }) {
        for (const char* name : {"a", "b", "c", "d"}) makes(name);
        folder.write("picture.png", "png");
        makes("paints",
              event("asset", R"("assetId":"p","kind":"image","mediaType":"image/png","path":)" +
                                 json_text(folder / "picture.png")) +
                  "\n" +
                  event("ui_event", R"("event":"narrative_choice","payload":{"choices":["go"]})"));
        folder.tool("fails", "echo fails >> " + (folder / "runs") + "\necho '" +
                                 event("error", R"("errorCode":"NO_LUCK","errorMessage":"none")") +
                                 "'\necho '" + kFailed + "'\n");
        // Fails on its first run.
        folder.tool("tries", "echo tries >> " + (folder / "runs") + "\n[ $(grep -c tries " +
                                 (folder / "runs") + ") = 1 ] && exit 3\necho '" +
                                 patch(R"({"tried":true})") + "'\necho '" + kDone + "'\n");
        plans["chain"] =
            plan_of({tool("a"), tool("b", R"("dependencies":["a"])"), tool("c"), tool("paints")},
                    R"("parallel":true,"narrative":"told")");
    }

    void makes(const std::string& name, std::string_view more = {}) {
        folder.tool(name, "echo " + name + " >> " + (folder / "runs") + "\nn=$(grep -c '^" + name +
                              "$' " + (folder / "runs") + ")\necho '" +
                              R"({"version":"0","type":"state_patch","patch":{")" + name +
                              "\":'$n'}}'\ncat <<'MORE'\n" + std::string(more) + "\nMORE\necho '" +
                              kDone + "'\n");
    }
    std::string tool(const std::string& name, std::string_view members = {}) const {
        std::string all = R"("async":true)";
        if (!members.empty()) (all += ",") += members;
        return entry(name, folder / name, all);
    }

    Stage& open(SessionOptions options = {}) {
        stage.reset();
        options.id = "s";
        options.store = store.path();
        if (!options.narrator) options.narrator = narrator.narrator();
        stage.emplace(EngineOptions{}, options);
        return *stage;
    }
    uint64_t play(std::string_view prompt) {
        uint64_t id = 0;
        stage->session.prompt(prompt, [&](Turn turn) { id = turn.id(); });
        stage->engine.run_until_idle();
        return id;
    }
    // Returns the outcome of the new turn.
    Outcome again(uint64_t turn, std::string_view tools = {}) {
        std::optional<Ended> ended;
        stage->session.again(turn, tools, keep(ended));
        stage->engine.run_until_idle();
        return ended.value().outcome;
    }
    // The tools that ran since the last call, sorted by name.
    std::vector<std::string> ran() {
        std::istringstream lines(folder.read("runs"));
        std::vector<std::string> all(std::istream_iterator<std::string>(lines), {});
        std::vector<std::string> fresh(all.begin() + static_cast<std::ptrdiff_t>(ran_), all.end());
        ran_ = all.size();
        std::sort(fresh.begin(), fresh.end());
        return fresh;
    }
    Json state() const { return Json(stage->session.state().view()); }
    std::string code_of(const std::function<void()>& call) const {
        try {
            call();
        } catch (const Error& error) {
            return std::string(error.code());
        }
        return "";
    }

    Folder folder;
    const Store store{folder / "saves.db"};
    std::map<std::string, std::string> plans;
    ScriptedNarrator narrator;
    std::optional<Stage> stage;

private:
    size_t ran_ = 0;
};

TEST_F(PlayedAgain, AgainWithoutToolsAsksTheNarrator) {
    open();
    play("a");
    play("chain");
    EXPECT_EQ(again(NAR_TURN_CURRENT), Outcome::Completed);
    EXPECT_EQ(narrator.requests.size(), 3u);
    const Json turns(stage->session.turns().view());
    EXPECT_EQ(turns["turns"][2]["prompt"].string(), "chain");
    EXPECT_EQ(turns["turns"][2]["parent"].integer(), 1);
}

TEST_F(PlayedAgain, SelectedToolRunsWithItsDependents) {
    open();
    play("chain");
    EXPECT_THAT(ran(), ElementsAre("a", "b", "c", "paints"));
    EXPECT_EQ(again(1, R"(["a"])"), Outcome::Completed);
    EXPECT_THAT(ran(), ElementsAre("a", "b"));
    EXPECT_EQ(narrator.requests.size(), 1u) << "the narrator is not asked";
    EXPECT_EQ(state(), Json(R"({"a":2,"b":2,"c":1,"paints":1})"));
}

TEST_F(PlayedAgain, OtherToolsKeepTheirRecordedEvents) {
    open();
    play("chain");
    auto all = [&](Kind kind) {
        std::vector<std::string> texts;
        for (const char* id : {"c", "paints"}) {
            for (const Record& record : stage->recorder.of(kind, id)) texts.push_back(record.text);
        }
        return texts;
    };
    const std::vector<std::string> events = all(Kind::ToolEvent), ends = all(Kind::AttemptEnded);
    stage->recorder.records.clear();
    std::optional<Ended> ended;
    stage->session.again(1, R"(["a"])", keep(ended));
    stage->engine.run_until_idle();
    EXPECT_EQ(all(Kind::ToolEvent), events);
    EXPECT_EQ(all(Kind::AttemptEnded), ends);
    EXPECT_EQ(ended->choices.text(), R"(["go"])");
    EXPECT_EQ(ended->narrative, "told");
    EXPECT_EQ(stage->assets()[0]["assetId"].string(), "p");
    EXPECT_EQ(stage->assets().size(), 1u);
}

TEST_F(PlayedAgain, PartialRerunIsStoredLikeAnyTurn) {
    open();
    play("chain");
    again(1, R"(["a"])");
    const Json after = state();
    open();
    EXPECT_EQ(state(), after);
    ran();
    again(2, R"(["b"])");
    EXPECT_THAT(ran(), ElementsAre("b"));
    EXPECT_EQ(state(), Json(R"({"a":2,"b":3,"c":1,"paints":1})"));
}

TEST_F(PlayedAgain, RerunStartsFromTheParentState) {
    open();
    play("d");

    play("chain");
    stage->session.patch_state(R"({"later":1})");
    stage->recorder.records.clear();
    again(2, R"(["c"])");
    EXPECT_EQ(state(), Json(R"({"a":1,"b":1,"c":2,"d":1,"paints":1})"));
    EXPECT_EQ(stage->recorder.one(Kind::SessionMoved).body["turn"].integer(), 1);
    EXPECT_TRUE(stage->recorder.one(Kind::SessionMoved).body["playsAgain"].boolean());
}

TEST_F(PlayedAgain, FailureDuringARerunAsksTheNarrator) {
    plans["chain"] = plan_of({tool("a"), tool("tries"), tool("c")}, R"("parallel":true)");
    folder.write("runs", "tries\n");  // the second run succeeds
    open();
    play("chain");
    ran();
    narrator.requests.clear();
    folder.write("runs", "");
    // From here on its first run fails.
    plans["chain"] = plan_of({tool("d")});
    EXPECT_EQ(again(1, R"(["tries"])"), Outcome::Completed);
    ASSERT_EQ(narrator.requests.size(), 1u);
    EXPECT_EQ(narrator.requests[0]["previousResult"]["failedTools"].text(), R"(["tries"])");
}

TEST_F(PlayedAgain, RerunOfAContinuedPlanAsksHowItContinues) {
    int asked = 0;
    ScriptedNarrator continues([&](const Json& request) {
        if (request["continuation"].integer() == 0) {
            return plan_of({tool("a"), tool("c")}, R"("continue":true)");
        }
        const std::string told = std::to_string(++asked);
        stage->session.patch_state("{\"told" + told + "\":true}");
        return tells("told " + told, "told-" + told);
    });
    SessionOptions options;
    options.narrator = continues.narrator();
    open(options);
    play("go");
    EXPECT_EQ(again(1, R"(["a"])"), Outcome::Completed);
    EXPECT_EQ(state(), Json(R"({"a":2,"c":1,"told2":true})")) << "not what it patched before";
}

TEST_F(PlayedAgain, ToolsAndTurnsThatCannotRunAgainAreRefused) {
    open();
    play("chain");
    const auto call = [&] { stage->session.again(1, R"(["z"])", [](Turn) {}); };
    EXPECT_EQ(code_of(call), "TOOL_MISSING");
    EXPECT_EQ(code_of([&] { stage->session.again(9, "", [](Turn) {}); }), "TURN_MISSING");
    stage->session.patch_state("{}");
    EXPECT_EQ(code_of([&] { stage->session.again(2, "", [](Turn) {}); }), "NOT_A_PROMPT");
    EXPECT_EQ(state(), Json(R"({"a":1,"b":1,"c":1,"paints":1})"));
}

// ---- after an interruption

class Interrupted : public PlayedAgain {
protected:
    Interrupted() {
        folder.fifo("never");
        folder.tool("hangs", "echo hangs >> " + (folder / "runs") + "\necho '" +
                                 patch(R"({"half":true})") + "'\n[ -e " + (folder / "open") +
                                 " ] || read -r never < " + (folder / "never") + "\necho '" +
                                 kDone + "'\n");
        plans["long"] = plan_of({tool("a"), tool("b", R"("dependencies":["a"])"), tool("hangs"),
                                 tool("c", R"("dependencies":["hangs"])")},
                                R"("parallel":true,"narrative":"told")");
    }
    // Plays the prompt in a host that is killed when b has ended.
    void cut_off(const std::string& prompt) {
        stage.reset();
        const pid_t host = ::fork();
        if (host == 0) {
            open();
            stage->session.prompt(prompt);
            while (stage->recorder.of(Kind::ToolEnded, "b").empty() ||
                   stage->recorder.of(Kind::ToolEvent, "hangs").empty()) {
                stage->engine.run_once();
            }
            stage->session.turns();  // waits until the store has written everything so far
            ::raise(SIGKILL);
        }
        int status = 0;
        ASSERT_EQ(::waitpid(host, &status, 0), host);
        ASSERT_TRUE(WIFSIGNALED(status));
        folder.write("open", "");
    }
    Outcome resume(uint64_t turn, uint32_t flags = 0) {
        std::optional<Ended> ended;
        stage->session.resume(turn, flags, keep(ended));
        stage->engine.run_until_idle();
        return ended.value().outcome;
    }
};

TEST_F(Interrupted, ResumeRunsOnlyUnfinishedTools) {
    open();
    play("d");
    cut_off("long");
    open();
    EXPECT_EQ(state(), Json(R"({"d":1})"));
    ran();
    EXPECT_EQ(resume(NAR_TURN_CURRENT), Outcome::Completed);
    EXPECT_THAT(ran(), ElementsAre("c", "hangs"));
    EXPECT_THAT(narrator.requests, testing::SizeIs(1)) << "the answer to \"long\" is in the store";
    EXPECT_EQ(state(), Json(R"({"a":1,"b":1,"c":1,"d":1,"half":true})"));
    const Json turns(stage->session.turns().view());
    EXPECT_EQ(turns["turns"][1]["status"].string(), "interrupted");
    EXPECT_EQ(turns["turns"][2]["status"].string(), "completed");
    EXPECT_EQ(turns["turns"][2]["parent"].integer(), 1);
}

TEST_F(Interrupted, UnansweredRequestIsRepeated) {
    const pid_t host = ::fork();
    if (host == 0) {
        PatientNarrator patient;
        open({.narrator = patient.narrator()});
        stage->session.prompt("a");
        while (patient.requests.empty()) stage->engine.run_once();
        stage->session.turns();
        ::raise(SIGKILL);
    }
    ASSERT_EQ(::waitpid(host, nullptr, 0), host);
    open();
    EXPECT_EQ(resume(1), Outcome::Completed);
    EXPECT_EQ(narrator.requests.size(), 1u);
    EXPECT_EQ(state(), Json(R"({"a":1})"));
}

TEST_F(Interrupted, NonRepeatableToolNeedsTheRepeatFlag) {
    folder.write("hangs.tool.json", R"({"name":"hangs","repeatable":false})");
    const pid_t host = ::fork();
    if (host == 0) {
        open();
        stage->session.prompt("hangs");
        while (stage->recorder.of(Kind::ToolEvent).empty()) stage->engine.run_once();
        ::raise(SIGKILL);  // the store may have any part of it
    }
    ASSERT_EQ(::waitpid(host, nullptr, 0), host);
    folder.write("open", "");
    open();
    ran();
    EXPECT_EQ(code_of([&] { resume(1); }), "NOT_REPEATABLE");
    EXPECT_THAT(ran(), IsEmpty());
    stage->session.patch_state(R"({"host":1})");
    EXPECT_EQ(code_of([&] { resume(NAR_TURN_CURRENT); }), "NOT_REPEATABLE") << "it is found";
    EXPECT_EQ(resume(1, NAR_RESUME_REPEATS), Outcome::Completed);
    EXPECT_THAT(ran(), ElementsAre("hangs"));
}

// Prompts, go_to, reruns, partial reruns, killed hosts and resumed prompts in random order. Each
// turn's state is that of its parent with the results of its tools.
TEST_F(Interrupted, RandomOperationsMatchTheModel) {
    struct Turn {
        size_t parent;
        std::string prompt;
        std::map<std::string, int> results;
    };
    std::map<std::string, int> runs;
    std::vector<Turn> model(1);
    size_t at = 0;
    const std::map<std::string, std::vector<std::string>> tools{
        {"a", {"a"}}, {"chain", {"a", "b", "c", "paints"}}, {"long", {"a", "b", "hangs", "c"}}};
    const std::map<std::string, std::vector<std::string>> dependents{{"a", {"a", "b"}},
                                                                     {"b", {"b"}},
                                                                     {"hangs", {"hangs", "c"}},
                                                                     {"c", {"c"}},
                                                                     {"paints", {"paints"}}};
    auto run = [&](Turn& turn, const std::vector<std::string>& names) {
        for (const std::string& name : names) {
            const int count = ++runs[name];
            turn.results[name == "hangs" ? "half" : name] = name == "hangs" ? 1 : count;
        }
    };
    auto expected = [&](size_t turn) {
        std::map<std::string, int> state;
        for (; turn != 0; turn = model[turn].parent) {
            for (const auto& result : model[turn].results) state.insert(result);
        }
        std::string json;
        for (const auto& [name, value] : state) {
            json += (json.empty() ? "{\"" : ",\"") + name +
                    "\":" + (name == "half" ? "true" : std::to_string(value));
        }
        return Json(json.empty() ? "{}" : json + "}");
    };
    std::mt19937 random(11);
    folder.write("open", "");
    open();
    for (int step = 0; step < 120; ++step) {
        const auto act = random() % 12;
        const size_t turn = model.size() > 1 ? 1 + random() % (model.size() - 1) : 0;
        const auto dependent = [&](const std::string& name) {
            // Only in "long" does a tool depend on "hangs".
            return model[turn].prompt == "long" || name != "hangs" ? dependents.at(name)
                                                                   : std::vector<std::string>{name};
        };
        if (act < 3 || turn == 0) {
            const std::string prompt = std::array{"a", "chain", "long"}[random() % 3];
            Turn made{at, prompt, {}};
            run(made, tools.at(prompt));
            play(prompt);
            model.push_back(made);
            at = model.size() - 1;
        } else if (act < 6) {
            at = random() % model.size();
            if (model[at].prompt == "interrupted") at = model[at].parent;
            stage->session.go_to(at == 0 ? NAR_TURN_BEGINNING : at);
        } else if (model[turn].prompt == "interrupted") {
            continue;
        } else if (act < 7) {
            Turn made{model[turn].parent, model[turn].prompt, {}};
            run(made, tools.at(made.prompt));
            again(turn);
            model.push_back(made);
            at = model.size() - 1;
        } else if (act < 10) {
            Turn made = model[turn];
            const auto& names = tools.at(made.prompt);
            const std::string name = names[random() % names.size()];
            auto live = dependent(name);
            std::erase_if(live, [&](const std::string& each) {
                return std::find(names.begin(), names.end(), each) == names.end();
            });
            run(made, live);
            again(turn, "[\"" + name + "\"]");
            model.push_back(made);
            at = model.size() - 1;
        } else if (act < 11) {
            open();
        } else {
            std::filesystem::remove(folder / "open");
            cut_off("long");
            open();
            Turn made{at, "long", {}};
            run(made, {"a", "b"});
            ++runs["hangs"];
            model.push_back({at, "interrupted", {}});
            run(made, {"hangs", "c"});
            resume(NAR_TURN_CURRENT);
            model.push_back(made);
            at = model.size() - 1;
        }
        ASSERT_EQ(state(), expected(at)) << "step " << step << ", act " << act;
    }
    for (size_t turn = 1; turn < model.size(); ++turn) {
        if (model[turn].prompt == "interrupted") continue;
        EXPECT_EQ(Json(store.state("s", turn).view()), expected(turn)) << "turn " << turn;
    }
}

TEST_F(Interrupted, InterruptedPromptIsTheDefaultOfAgain) {
    open();
    play("d");
    cut_off("long");
    open();
    stage->session.patch_state(R"({"host":1})");
    EXPECT_EQ(again(NAR_TURN_CURRENT), Outcome::Completed);
    const Json turns(stage->session.turns().view());
    EXPECT_EQ(turns["turns"][3]["prompt"].string(), "long");
    EXPECT_EQ(turns["turns"][3]["parent"].integer(), 1);
}

TEST_F(Interrupted, ResumeAcceptsOnlyAnInterruptedPrompt) {
    open();
    play("a");
    EXPECT_EQ(code_of([&] { resume(1); }), "NOT_INTERRUPTED");
    EXPECT_EQ(code_of([&] { resume(NAR_TURN_CURRENT); }), "TURN_MISSING");
}

// ---- replay

class Replayed : public PlayedAgain {
protected:
    // A session with turns of every kind.
    void play_all() {
        plans["fails"] = plan_of({tool("fails"), tool("a")}, R"("parallel":true)");
        plans["tries"] =
            plan_of({entry("tries", folder / "tries",
                           R"("async":true,"retryPolicy":{"maxRetries":2,"backoffMs":1})")});
        open({.state = R"({"first":true})"});
        play("chain");
        stage->session.patch_state(R"({"host":1,"first":null})");
        stage->session.set_state("none", "null");
        play("fails");  // ends in the fallback
        play("tries");
        stage->run(plan_of({tool("c"), tool("d")}, R"("parallel":true)"));
        stage->session.run_script(
            "LET x = CALL c {}\nLET y = CALL d {}", "", folder.path(), [](std::string_view) {},
            [](const ScriptEnd& end) { EXPECT_TRUE(end.ok) << end.error; });
        stage->engine.run_until_idle();
        stage->session.go_to(1);
        play("chain");
    }
    // The records without the bodies that contain times.
    static std::vector<std::string> shape(const Recorder& recorder) {
        std::vector<std::string> all;
        for (const Record& record : recorder.records) {
            if (record.kind == Kind::TurnEnded || record.kind == Kind::SessionMoved) continue;
            const bool has_times = record.text.find("Time") != std::string::npos ||
                                   record.text.find("timestamp") != std::string::npos;
            all.push_back(std::to_string(record.seq) + " " +
                          std::to_string(static_cast<int>(record.kind)) + " " + record.plan_id +
                          "/" + record.tool_id + "/" + std::to_string(record.attempt) + " " +
                          (has_times ? "" : record.text));
        }
        return all;
    }
    // Replays all turns; returns the numbers of those that end in a different state.
    std::vector<uint64_t> replay() {
        const Json turns(store.turns("s").view());
        stage.reset();
        stage.emplace(EngineOptions{},
                      SessionOptions{.id = "s", .store = store.path(), .replays = true});
        std::vector<uint64_t> different;
        for (const Json& turn : turns["turns"].elements()) {
            bool has_ended = false;
            stage->session.replay(static_cast<uint64_t>(turn["id"].integer()),
                                  [&](const nar_replayed& end) {
                                      has_ended = true;
                                      if (!end.is_equal) different.push_back(end.turn);
                                  });
            stage->engine.run_until_idle();
            EXPECT_TRUE(has_ended);
        }
        return different;
    }
};

TEST_F(Replayed, EveryTurnEndsInItsStoredState) {
    play_all();
    ran();
    narrator.requests.clear();
    EXPECT_THAT(replay(), IsEmpty());
    EXPECT_THAT(ran(), IsEmpty()) << "no tool is started";
    EXPECT_THAT(narrator.requests, IsEmpty()) << "the narrator is not asked";
}

// A plan that exceeds its timeout skips a tool, which the next plan runs.
TEST_F(Replayed, SkippedToolIsSkippedAgain) {
    folder.tool("sleeps", "exec sleep 60");
    int asked = 0;
    ScriptedNarrator two([&](const Json&) {
        return ++asked == 1 ? plan_of({entry("s", folder / "sleeps"), entry("a", folder / "a")})
                            : plan_of({entry("a", folder / "a")}, R"("requestId":"two")");
    });
    Times times;
    times.plan_ms = 200;
    open({.narrator = two.narrator(), .times = times});
    play("go");
    EXPECT_EQ(state(), Json(R"({"a":1})"));
    EXPECT_THAT(replay(), IsEmpty());
    EXPECT_EQ(state(), Json(R"({"a":1})"));
}

TEST_F(Replayed, PatchBeforeACancellationIsReplayed) {
    PatientNarrator patient;
    open({.narrator = patient.narrator()});
    patient.on_asked = [&] {
        stage->session.patch_state(R"({"asked":true})");
        stage->session.cancel();
    };
    play("go");
    EXPECT_EQ(state(), Json(R"({"asked":true})"));
    EXPECT_THAT(replay(), IsEmpty());
    EXPECT_EQ(state(), Json(R"({"asked":true})"));
}

TEST_F(Replayed, LastPatchOfTheHostIsReplayed) {
    open();
    stage->recorder.on_record = [&](const Record& record) {
        if (record.kind == Kind::PlanEnded) stage->session.patch_state(R"({"last":true})");
    };
    play("a");
    EXPECT_THAT(replay(), IsEmpty());
    EXPECT_EQ(state(), Json(R"({"a":1,"last":true})"));
}

TEST_F(Replayed, OtherSubmissionsAreRefused) {
    open();
    play("a");
    replay();
    EXPECT_EQ(code_of([&] { stage->session.prompt("a"); }), "REPLAY");
    EXPECT_EQ(code_of([&] { stage->session.execute(plan_of({}), ""); }), "REPLAY");
    const SessionOptions nowhere{.id = "t", .store = store.path(), .replays = true};
    EXPECT_EQ(code_of([&] { Session(stage->engine, nowhere); }), "SESSION");
}

TEST_F(Replayed, StreamIsEqualExceptForTimes) {
    plans["both"] = plan_of(
        {tool("a"), tool("c"), tool("d"), tool("paints"), tool("b", R"("dependencies":["c"])")},
        R"("parallel":true,"narrative":"told")");
    open();
    play("both");
    stage->session.go_to(NAR_TURN_BEGINNING);
    play("fails");
    stage->session.patch_state(R"({"host":1})");
    play("chain");
    const std::vector<std::string> before = shape(stage->recorder);
    EXPECT_THAT(replay(), IsEmpty());
    const std::vector<std::string> now = shape(stage->recorder);
    for (size_t i = 0; i < std::min(before.size(), now.size()); ++i) ASSERT_EQ(now[i], before[i]);
    EXPECT_EQ(now.size(), before.size());
}

}  // namespace
