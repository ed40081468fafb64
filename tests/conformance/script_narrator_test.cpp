// SPDX-License-Identifier: Apache-2.0
// A story with a Nuwa script as its narrator, through the C ABI.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/narrators.hpp"

namespace {

using namespace narratoria;
using namespace narratoria::test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ScriptNarrator : public ::testing::Test {
protected:
    void open(std::string_view script, const std::string& more = "") {
        folder.write("story.toml",
                     "title = \"A river\"\n[narrator]\nname = \"tale.nuwa\"\n"
                     "[fallback]\ntemplates = [\"The river is silent.\"]\n" +
                         more);
        folder.write("tale.nuwa", std::string(script));
        folder.says("tools/look",
                    {patch(R"({"seen":true})"), event("done", R"("ok":true,"result":{"far":2})")});
        folder.says("tools/fails", {kFailed});
        engine.emplace(EngineOptions{.root = folder.path(), .log = [this](const LogLine& line) {
                                         log += std::string(line.message) + "\n";
                                     }});
        session.emplace(*engine,
                        SessionOptions{.story = folder.path(), .state = R"({"boat":"red"})"});
        session->attach(std::ref(recorder));
    }
    Ended prompt(std::string_view words) {
        std::optional<Ended> ended;
        session->prompt(words, keep(ended));
        engine->run_until_idle();
        return ended.value();
    }
    // The faults of a story that no session accepts.
    std::string refusal(std::string_view script) {
        try {
            open(script);
        } catch (const Error& error) {
            return std::string(error.message());
        }
        return "no fault";
    }
    std::vector<std::string> warnings() const {
        std::vector<std::string> out;
        for (const Record& record : recorder.of(Kind::Warning)) {
            out.push_back(record.body["message"].string());
        }
        return out;
    }

    Folder folder;
    std::string log;
    Recorder recorder;
    std::optional<Engine> engine;
    std::optional<Session> session;
};

TEST_F(ScriptNarrator, PrintedTextIsTheNarrative) {
    open(R"(PRINT(FORMAT("You say {p}.", {p: prompt}))
            PRINT(FORMAT("The boat is {c}.", {c: state.boat}))
            PRINT(disabledSkills == []))");
    const Ended ended = prompt("hello \"you\"");
    EXPECT_EQ(ended.outcome, Outcome::Completed);
    EXPECT_EQ(ended.narrative, "You say hello \"you\".\nThe boat is red.\ntrue");
    EXPECT_EQ(recorder.one(Kind::Narrative).body["source"].string(), "plan");
    EXPECT_EQ(ended.generations, 1u);
}

TEST_F(ScriptNarrator, VariableChoicesIsOfferedAfterTheChoicesOfTools) {
    open(R"(LET choices = ["I wait"]
            IF HAS(state, "boat") THEN LET choices = ["I row", "I wait"] END
            LET die = random % 6 + 1
            PRINT(die >= 1 AND die <= 6))");
    const Ended ended = prompt("go");
    EXPECT_EQ(ended.choices, Json(R"(["I row","I wait"])"));
    EXPECT_EQ(ended.narrative, "true");
}

TEST_F(ScriptNarrator, VariableEndingNamesTheEndOfTheStory) {
    open(R"(PRINT("You row away.") LET ending = "Away")");
    prompt("go");
    EXPECT_EQ(recorder.one(Kind::PlanStarted).body["plan"]["metadata"]["ending"].string(), "Away");
}

TEST_F(ScriptNarrator, ChoicesThatAreNotAListOfStringsGiveAWarning) {
    open(R"(PRINT("Well?") LET choices = ["I wait", 2])");
    const Ended ended = prompt("go");
    EXPECT_EQ(ended.choices, Json(R"(["I wait"])"));
    EXPECT_EQ(ended.narrative, "Well?");
    EXPECT_THAT(warnings(), ElementsAre(HasSubstr("choices is not a list of strings")));
}

TEST_F(ScriptNarrator, EndingThatIsNotAStringGivesAWarning) {
    open(R"(PRINT("You row away.") LET ending = 5)");
    prompt("go");
    EXPECT_THAT(warnings(), ElementsAre(HasSubstr("the variable ending is not a string")));
}

TEST_F(ScriptNarrator, ScriptThatDoesNothingGivesOneWarning) {
    for (const std::string_view script : {"LET a = 1", "", "// a comment\n"}) {
        recorder.records.clear();
        open(script);
        EXPECT_EQ(prompt("go").outcome, Outcome::Completed);
        EXPECT_EQ(prompt("again").outcome, Outcome::Completed);
        EXPECT_TRUE(recorder.of(Kind::Narrative).empty());
        EXPECT_THAT(warnings(),
                    ElementsAre("tale.nuwa: the script ended without a PRINT or a CALL, so the "
                                "player sees nothing"))
            << script;
        EXPECT_EQ(recorder.one(Kind::Warning).body["code"].string(), "NARRATOR_SILENT");
        session.reset();
    }
}

TEST_F(ScriptNarrator, ScriptThatOnlyCallsToolsGivesNoWarning) {
    open("LET a = CALL look {}");
    EXPECT_EQ(prompt("go").outcome, Outcome::Completed);
    EXPECT_TRUE(recorder.of(Kind::Narrative).empty());
    EXPECT_THAT(warnings(), ElementsAre());
}

// covers: 002-core-invocation, 002-function-promise
TEST_F(ScriptNarrator, CallsRunInOrderAndReturnTheirResults) {
    open("\nLET first = CALL look {}\nPRINT(first.far + CALL look {}.far)");
    const Ended ended = prompt("go");
    EXPECT_EQ(ended.narrative, "4");
    ASSERT_EQ(recorder.of(Kind::ToolPending).size(), 2u);
    EXPECT_EQ(recorder.one(Kind::ToolPending, "look-1").body["line"].integer(), 2);
    EXPECT_EQ(recorder.one(Kind::ToolPending, "look-2").body["line"].integer(), 3);
    EXPECT_LT(recorder.seq(Kind::ToolEnded, "look-1"), recorder.seq(Kind::ToolPending, "look-2"));
    EXPECT_LT(recorder.seq(Kind::ToolEnded, "look-2"), recorder.one(Kind::Narrative).seq);
    EXPECT_TRUE(Json(session->state().view())["seen"].boolean());
}

// covers: 002-state-awareness
TEST_F(ScriptNarrator, NextPromptRunsTheScriptWithTheNewState) {
    open("PRINT(state == {boat: \"red\"}) CALL look {}");
    EXPECT_EQ(prompt("go").narrative, "true");
    EXPECT_EQ(prompt("go").narrative, "false");
}

TEST_F(ScriptNarrator, FailedToolRerunsTheScriptWithTheSkillDisabled) {
    open("IF disabledSkills == [] THEN CALL fails {} END PRINT(disabledSkills)");
    const Ended ended = prompt("go");
    EXPECT_EQ(ended.outcome, Outcome::Completed);
    EXPECT_EQ(ended.generations, 2u);
    EXPECT_EQ(ended.narrative, "[fails]");
    EXPECT_EQ(recorder.of(Kind::AttemptStarted).size(), 1u) << "a CALL makes one attempt";
    EXPECT_THAT(warnings(), ElementsAre(HasSubstr("tale.nuwa:1:30: ToolExecutionError: ")));
}

TEST_F(ScriptNarrator, RepeatedFailureEndsInTheFallback) {
    open("CALL fails {}");
    const Ended ended = prompt("go");
    EXPECT_EQ(ended.outcome, Outcome::Fallback);
    EXPECT_EQ(ended.narrative, "The river is silent.");
    // The second run sees the disabled skill; a third run would have the same input.
    EXPECT_EQ(ended.generations, 3u);
    EXPECT_EQ(recorder.of(Kind::AttemptStarted).size(), 1u);
    EXPECT_THAT(log, HasSubstr("tale.nuwa:1:1: ToolExecutionError"));
}

TEST_F(ScriptNarrator, ScriptErrorShowsItsLineAndNothingRunsTwice) {
    open("CALL look {}\nPRINT(1 / 0)");
    const Ended ended = prompt("go");
    EXPECT_EQ(ended.outcome, Outcome::Fallback);
    EXPECT_EQ(ended.generations, 1u);
    EXPECT_EQ(recorder.of(Kind::ToolEnded).size(), 1u);
    EXPECT_THAT(warnings(),
                ElementsAre("the narrator returned no plan: tale.nuwa:2:9: DivisionByZeroError: "
                            "Division by zero.\n  2 | PRINT(1 / 0)\n    |         ^"));
    EXPECT_EQ(prompt("again").outcome, Outcome::Fallback)
        << "the next prompt runs the script again";
    EXPECT_EQ(recorder.of(Kind::ToolEnded).size(), 2u);
}

TEST_F(ScriptNarrator, CancelledPromptEndsTheScriptAndItsTool) {
    open("IF prompt == \"wait\" THEN CALL endless {} END PRINT(\"Here.\")");
    folder.tool("tools/endless",
                "printf '%s\\n' '" + test::log("waiting") + "'; while :; do :; done");
    recorder.on_record = [this](const Record& record) {
        if (record.kind == Kind::ToolEvent) session->cancel();
    };
    EXPECT_EQ(prompt("wait").outcome, Outcome::Cancelled);
    EXPECT_EQ(recorder.one(Kind::ToolEnded).body["errorCode"].string(), "CANCELLED");
    recorder.on_record = nullptr;
    EXPECT_EQ(prompt("on").narrative, "Here.");
}

TEST_F(ScriptNarrator, EndlessScriptIsEndedAndNotRunAgain) {
    open(
        "LET l = [1,2,3,4,5,6,7,8,9,10]\n"
        "FOR a IN l DO FOR b IN l DO FOR c IN l DO FOR d IN l DO FOR e IN l DO FOR f IN l DO "
        "FOR g IN l DO LET x = 1 END END END END END END END",
        "[times]\nnarrator_ms = 1\n");
    const Ended ended = prompt("go");
    EXPECT_EQ(ended.outcome, Outcome::Fallback);
    EXPECT_EQ(ended.generations, 2u);
    EXPECT_THAT(warnings(), ElementsAre(HasSubstr("did not reply within 1 ms"),
                                        HasSubstr("tale.nuwa: the script did not end in time")));
}

TEST_F(ScriptNarrator, InvalidScriptIsRefusedWithItsPosition) {
    EXPECT_THAT(refusal("PRINT(1)\nIF true PRINT(1) END"),
                HasSubstr("tale.nuwa: line 2, column 9: ParserError: Expected 'THEN'"));
    EXPECT_THAT(refusal("LET a = @"), HasSubstr("tale.nuwa: line 1, column 9: LexerError"));
}

TEST_F(ScriptNarrator, MissingOrForeignScriptIsAFaultOfStoryToml) {
    for (const auto& [name, said] :
         {std::pair("gone.nuwa",
                    "the script \\\"gone.nuwa\\\" that narrates the story does not exist"),
          std::pair("../tale.nuwa", "must be in the story's folder"),
          std::pair("/tale.nuwa", "must be in the story's folder")}) {
        folder.write("story.toml",
                     std::string("title = \"A\"\n[narrator]\nname = \"") + name + "\"\n");
        Engine its({.root = folder.path()});
        try {
            const Session refused(its, SessionOptions{.story = folder.path()});
            ADD_FAILURE() << name;
        } catch (const Error& error) {
            EXPECT_THAT(std::string(error.details()), HasSubstr(said)) << name;
            EXPECT_THAT(std::string(error.details()),
                        HasSubstr("\"file\":\"story.toml\",\"line\":3"));
        }
    }
}

}  // namespace
