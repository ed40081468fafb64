// SPDX-License-Identifier: Apache-2.0
#include "session/template_narrator.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/json/writer.hpp"
#include "plan/plan.hpp"
#include "unit/base/json/document.hpp"

namespace {

using namespace narratoria;
using namespace std::string_literals;
using session::TemplateNarrator;

std::shared_ptr<const session::Prompts> prompts_with(std::string_view text) {
    Faults faults;
    auto prompts = session::read_prompts(text, faults);
    if (!faults.empty()) throw std::runtime_error(describe_faults(faults, ""));
    return prompts;
}

struct Asked {
    std::string prompt;
    std::vector<std::string> disabled = {};
    int attempt = 1;
    std::string parent = "null";  // JSON
    std::string state = "{}";
    std::string result = "null";
    std::string metadata = "{}";
    int random = 0;
};

std::string request_for(const Asked& asked) {
    std::string out;
    json::ObjectWriter request(out);
    request.string("schema", "narrator-request/1").string("sessionId", "s");
    request.key("prompt");
    json::ObjectWriter(out)
        .string("text", asked.prompt)
        .string("timestamp", "2026-01-24T18:30:00Z")
        .string("sessionId", "s")
        .end();
    request.number("generationAttempt", asked.attempt).raw("parentPlanId", asked.parent);
    std::string disabled = "[";
    for (const std::string& skill : asked.disabled) {
        if (disabled.size() > 1) disabled += ',';
        json::append_string(disabled, skill);
    }
    request.raw("disabledSkills", disabled + "]").raw("previousResult", asked.result);
    request.raw("previousMetadata", asked.metadata).number("random", asked.random);
    request.raw("planFaults", "[]");
    request.end();
    return out;
}

// An answer and its parsed plan. The plan's views are valid as long as this object.
class Answered {
public:
    Answered(const TemplateNarrator& narrator, const Asked& asked) {
        json::Document request;
        json::ParseError error;
        EXPECT_TRUE(request.parse(request_for(asked), error)) << error.message;
        state::Tree state;
        state.assign(test::parse_json(asked.state)->root());
        const TemplateNarrator::Reply reply = narrator.answer(request.root(), state);
        text_ = reply.plan;
        patch_ = reply.patch;
        EXPECT_TRUE(document_.parse(text_, error)) << text_ << error.message;
        Faults faults;
        EXPECT_TRUE(plan_.parse(text_, faults)) << describe_faults(faults, text_);
    }
    const std::string& text() const { return text_; }
    json::Value root() const { return document_.root(); }
    const plan::Plan& plan() const { return plan_; }
    std::string narrative() const { return std::string(plan_.narrative); }
    const std::string& patch() const { return patch_; }
    std::vector<std::string> choices() const {
        return {plan_.choices.begin(), plan_.choices.end()};
    }
    std::string metadata() const { return std::string(root().find("metadata").raw()); }

private:
    std::string text_;
    std::string patch_;
    json::Document document_;
    plan::Plan plan_;
};

// The answer of a narrator with one pattern, which shows the captures in its narrative.
std::string matched(const std::string& pattern, const std::string& shown,
                    const std::string& prompt) {
    std::string prompts = R"({"prompts":[{"patterns":[)";
    json::append_string(prompts, pattern);
    prompts += R"(],"answers":[{"narrative":)";
    json::append_string(prompts, shown);
    prompts += R"(}]}],"unmatched":{"narrative":"unmatched"}})";
    return Answered(TemplateNarrator(prompts_with(prompts)), {prompt}).narrative();
}

const char* const kTorch = R"({
  "prompts": [
    {"patterns": ["light the torch"], "answers": [
      {"plan": {"narrative": "You reach for it.", "note": "{prompt}", "tools": [
        {"toolId": "light", "toolPath": "tools/torch-lighter.py", "input": {"n": 1.50}},
        {"toolId": "look", "toolPath": "/opt/door-examiner", "dependencies": ["light"]}]}},
      {"plan": {"tools": [{"toolId": "look", "toolPath": "tools/door-examiner"}],
                "disabledSkills": ["torch-lighter", "old"], "requestId": "fixed",
                "metadata": {"generationAttempt": 9, "parentPlanId": "x", "author": "{prompt}"}}},
      {"narrative": "It is beyond reach."}]}
  ]
})";

// covers: 003-14.1-narrator-stub, 003-13.6-returns-plan
TEST(TemplateNarrator, AnswersAPromptWithThePlanOfItsPattern) {
    const TemplateNarrator narrator(prompts_with(kTorch));
    const Answered answer(narrator, {"Light the torch!"});
    ASSERT_EQ(answer.plan().tools.size(), 2u);
    EXPECT_EQ(answer.plan().tools[0].tool_id, "light");
    EXPECT_EQ(answer.plan().tools[0].input, R"({"n":1.50})") << "numbers keep their notation";
    EXPECT_EQ(answer.narrative(), "You reach for it.");
    EXPECT_EQ(answer.root().find("note").text(), "Light the torch!") << "other fields are kept";
}

TEST(TemplateNarrator, GeneratesARequestIdUnlessThePlanHasOne) {
    const TemplateNarrator narrator(prompts_with(kTorch));
    std::set<std::string> ids;
    for (int i = 0; i < 10; ++i) {
        ids.emplace(Answered(narrator, {"light the torch"}).plan().request_id);
        ids.emplace(Answered(narrator, {"something else"}).plan().request_id);
    }
    EXPECT_EQ(ids.size(), 20u);
    EXPECT_EQ(Answered(narrator, {"light the torch", {"torch-lighter"}}).plan().request_id,
              "fixed");
}

// covers: 003-13.6-consults-disabled
TEST(TemplateNarrator, ChoosesTheFirstAnswerWithoutADisabledSkill) {
    const TemplateNarrator narrator(prompts_with(kTorch));
    EXPECT_EQ(Answered(narrator, {"light the torch", {"other"}}).plan().tools.size(), 2u);
    EXPECT_EQ(Answered(narrator, {"light the torch", {"torch-lighter"}}).plan().tools.size(), 1u);
    const Answered words(narrator, {"light the torch", {"torch-lighter", "door-examiner"}});
    EXPECT_TRUE(words.plan().tools.empty());
    EXPECT_EQ(words.narrative(), "It is beyond reach.");
}

// covers: 003-13.6-tracks-attempt, 003-13.6-parent-plan
TEST(TemplateNarrator, RecordsAttemptParentAndDisabledSkills) {
    const TemplateNarrator narrator(prompts_with(kTorch));
    const Answered first(narrator, {"light the torch"});
    EXPECT_EQ(first.root().find("metadata").raw(),
              R"({"generationAttempt":1,"parentPlanId":null,"answer":"/prompts/0/answers/0"})");
    EXPECT_EQ(first.root().find("disabledSkills").raw(), "[]");

    const Answered second(narrator, {"light the torch", {"x", "torch-lighter"}, 2, R"("p\"1")"});
    EXPECT_EQ(second.root().find("metadata").raw(),
              R"({"author":"light the torch","generationAttempt":2,"parentPlanId":"p\"1",)"
              R"("answer":"/prompts/0/answers/1"})");
    EXPECT_EQ(second.root().find("disabledSkills").raw(), R"(["torch-lighter","old","x"])")
        << "the skills of the plan and of the request, each once";

    const Answered words(narrator, {"sing", {"x"}, 3, R"("p")"});
    EXPECT_EQ(words.root().find("metadata").raw(), R"({"generationAttempt":3,"parentPlanId":"p"})");
    EXPECT_EQ(words.root().find("disabledSkills").raw(), R"(["x"])");
    EXPECT_EQ(words.root().find("tools").raw(), "[]");
}

TEST(TemplateNarrator, ChecksTheSkillAfterExpandingThePath) {
    const TemplateNarrator narrator(prompts_with(
        R"({"prompts":[{"patterns":["use {tool}"],"answers":[
            {"plan":{"tools":[{"toolId":"t","toolPath":"tools/{tool}.sh"}]}},
            {"narrative":"Not the {tool}."}]}]})"));
    EXPECT_EQ(Answered(narrator, {"use lever"}).plan().tools[0].tool_path, "tools/lever.sh");
    EXPECT_EQ(Answered(narrator, {"use lever", {"lever"}}).narrative(), "Not the lever.");
}

TEST(TemplateNarrator, AnswersUnmatchedPrompts) {
    const std::string prompts = R"({"prompts":[{"patterns":["a"],"answers":[{"plan":{"tools":
        [{"toolId":"t","toolPath":"t"}]}}]}])";
    const TemplateNarrator with(
        prompts_with(prompts + R"(,"unmatched":{"narrative":"Nothing: {prompt}"}})"));
    EXPECT_EQ(Answered(with, {" Dance?! "}).narrative(), "Nothing:  Dance?! ")
        << "{prompt} is the original text";
    EXPECT_EQ(Answered(with, {"a", {"t"}}).narrative(), "Nothing: a")
        << "every answer needs a disabled skill";

    const TemplateNarrator without(prompts_with(prompts + "}"));
    EXPECT_FALSE(Answered(without, {"Dance"}).narrative().empty());
    EXPECT_TRUE(Answered(without, {"Dance"}).plan().tools.empty());

    const TemplateNarrator plan(prompts_with(
        R"({"prompts":[],"unmatched":{"plan":{"tools":[{"toolId":"t","toolPath":"t"}]}}})"));
    EXPECT_EQ(Answered(plan, {"x"}).plan().tools.size(), 1u);
    EXPECT_TRUE(Answered(plan, {"x", {"t"}}).plan().tools.empty());

    const TemplateNarrator empty(std::make_shared<const session::Prompts>());
    EXPECT_NE(Answered(empty, {"x"}).narrative().find("prompts.json"), std::string::npos);
}

TEST(TemplateNarrator, UsesTheFirstEntryThatMatches) {
    const TemplateNarrator narrator(prompts_with(
        R"({"prompts":[{"patterns":["x","take {a}"],"answers":[{"narrative":"1"}]},
                       {"patterns":["take it","y"],"answers":[{"narrative":"2"}]}]})"));
    EXPECT_EQ(Answered(narrator, {"take it"}).narrative(), "1");
    EXPECT_EQ(Answered(narrator, {"y"}).narrative(), "2");
}

TEST(TemplateNarrator, InsertsTextVerbatimIntoStrings) {
    const TemplateNarrator narrator(prompts_with(
        R"({"prompts":[{"patterns":["say {words}"],"answers":[{"plan":{"tools":[{"toolId":"t",
            "toolPath":"t","input":{"{words}":["{words}","{{words}}","{prompt}/{words}"]}}]}}]}]})"));
    const std::string said = "\"quoted\" \\ {prompt} {words} }} \n\t\x01 é🔥 \\u0041";
    const Answered answer(narrator, {"say " + said});
    const auto input = test::parse_json(answer.plan().tools[0].input);
    const json::Value list = input->root().find("{words}");
    ASSERT_TRUE(list) << "keys are not replaced";
    std::vector<std::string> strings;
    for (const json::Value element : list.elements()) strings.emplace_back(element.text());
    EXPECT_EQ(strings, (std::vector<std::string>{said, "{words}", "say " + said + "/" + said}));
}

TEST(TemplateNarrator, AnswersMalformedRequests) {
    const TemplateNarrator narrator(prompts_with(kTorch));
    for (const char* text : {"null", "[]", "{}", R"({"prompt":1,"disabledSkills":{}})",
                             R"({"prompt":{},"disabledSkills":[1],"generationAttempt":"x"})"}) {
        const auto request = test::parse_json(text);
        Faults faults;
        plan::Plan plan;
        EXPECT_TRUE(plan.parse(narrator.answer(request->root(), {}).plan, faults)) << text;
    }
}

// ---- the state

using List = std::vector<std::string>;

const char* const kDoor = R"({
  "prompts": [
    {"patterns": ["open the door"], "when": {"/torch/lit": true}, "answers": [
      {"when": {"/keys": {"<": 1}}, "narrative": "It is locked, {/player/name}.",
       "choices": ["look", {"text": "break it, {/player/name}", "when": {"/strong": true}}]},
      {"narrative": "It opens. Keys: {/keys}.", "set": {"/keys": {"+": -1}, "/door": "open"},
       "choices": [{"text": "go in", "when": {"/door": "open"}}]}]},
    {"patterns": ["open the {thing}"], "answers": [{"narrative": "No light for the {thing}."}]},
    {"patterns": ["roll"], "answers": [
      {"plan": {"tools": [{"toolId": "r-1", "toolPath": "tools/roll"}]},
       "narrative": "It rolls.", "success": "It shows {r-1.result.total}. {r-1.summary}",
       "failure": "{r-1.error}!", "set": {"/rolled": "{r-1.result.total}"},
       "choices": [{"text": "again after {r-1.result.total}", "when": {"/rolled": {">": 3}}}]}]},
    {"patterns": ["sing"], "answers": [{"narrative": ["la", "li", "lo"]}]}
  ],
  "unmatched": [{"when": {"/tired": true}, "narrative": "You yawn."}, {"narrative": "What?"}]
})";

TEST(TemplateNarrator, ConditionsChooseEntriesAndAnswers) {
    const TemplateNarrator narrator(prompts_with(kDoor));
    const auto told = [&](const char* state) {
        return Answered(narrator, {.prompt = "open the door", .state = state}).narrative();
    };
    EXPECT_EQ(told("{}"), "No light for the door.");
    EXPECT_EQ(told(R"({"torch":{"lit":true},"keys":0,"player":{"name":"Ada"}})"),
              "It is locked, Ada.");
    EXPECT_EQ(told(R"({"torch":{"lit":true},"keys":2})"), "It opens. Keys: 1.")
        << "texts of an answer without tools show the state that it sets";
    EXPECT_EQ(Answered(narrator, {"hm"}).narrative(), "What?");
    EXPECT_EQ(Answered(narrator, {.prompt = "hm", .state = R"({"tired":true})"}).narrative(),
              "You yawn.");
}

TEST(TemplateNarrator, SetsTheStateAndOffersChoicesForIt) {
    const TemplateNarrator narrator(prompts_with(kDoor));
    const Answered open(narrator,
                        {.prompt = "open the door", .state = R"({"torch":{"lit":true},"keys":2})"});
    EXPECT_EQ(open.patch(), R"({"keys":1,"door":"open"})");
    EXPECT_EQ(open.choices(), List{"go in"});
    EXPECT_FALSE(open.plan().continues);
    const Answered locked(
        narrator, {.prompt = "open the door",
                   .state = R"({"torch":{"lit":true},"strong":true,"player":{"name":"Ada"}})"});
    EXPECT_EQ(locked.choices(), (List{"look", "break it, Ada"}));
    EXPECT_EQ(locked.patch(), "");
}

TEST(TemplateNarrator, TellsTheOutcomeOfItsTools) {
    const TemplateNarrator narrator(prompts_with(kDoor));
    const Answered first(narrator, {"roll"});
    EXPECT_EQ(first.narrative(), "It rolls.");
    EXPECT_TRUE(first.plan().continues);
    EXPECT_EQ(first.patch(), "") << "only after success";
    EXPECT_EQ(first.choices(), List{});
    const Answered success(narrator,
                           {.prompt = "roll",
                            .result = R"({"success":true,"toolResults":[{"toolId":"r-1","ok":true,)"
                                      R"("summary":"Four.","result":{"total":4}}]})",
                            .metadata = first.metadata()});
    EXPECT_EQ(success.narrative(), "It shows 4. Four.");
    EXPECT_TRUE(success.plan().tools.empty());
    EXPECT_FALSE(success.plan().continues);
    EXPECT_EQ(success.patch(), R"({"rolled":4})");
    EXPECT_EQ(success.choices(), List{"again after 4"});
    const Answered failure(
        narrator, {.prompt = "roll",
                   .disabled = {"roll"},
                   .attempt = 2,
                   .result = R"({"success":false,"toolResults":[{"toolId":"r-1","ok":false,)"
                             R"("error":"It fell off"}]})",
                   .metadata = first.metadata()});
    EXPECT_EQ(failure.narrative(), "It fell off!");
    EXPECT_EQ(failure.patch(), "");
}

TEST(TemplateNarrator, GivesUpIfNoAnswerTellsAFailure) {
    const TemplateNarrator narrator(prompts_with(
        R"({"prompts":[{"patterns":["a"],"answers":[{"plan":{"tools":[{"toolId":"t","toolPath":"t"}]}}]}],)"
        R"("unmatched":{"narrative":"What?"}})"));
    json::Document request;
    json::ParseError error;
    ASSERT_TRUE(request.parse(request_for({.prompt = "a",
                                           .disabled = {"t"},
                                           .attempt = 2,
                                           .result = R"({"success":false,"toolResults":[]})",
                                           .metadata = R"({"answer":"/prompts/0/answers/0"})"}),
                              error));
    EXPECT_EQ(
        narrator.answer(request.root(), {}).fault,
        "prompts.json: /prompts/0/answers/0: its tools failed, and no other answer is left; add "
        "\"failure\"");
}

// ---- names of things

const char* const kThings = R"({
  "conditions": {"dark": {"/rooms/{/place}/lit": false}},
  "prompts": [
    {"patterns": ["take {thing:/things}"], "when": {"not": "dark"}, "answers": [
      {"when": {"/things/{thing}/at": "me"}, "narrative": "You have the {thing}."},
      {"when": {"/things/{thing}/at": "{/place}"}, "narrative": "{/things/{thing}/text}",
       "set": {"/things/{thing}/at": "me", "/taken": {"add": "{thing}"}}},
      {"narrative": "No {thing} here."}]},
    {"patterns": ["take {thing}"], "answers": [{"narrative": "What is a {thing}?"}]},
    {"patterns": ["go {way:/rooms/{/place}/exits}"], "answers": [
      {"narrative": "{/rooms/{/place}/text}", "set": {"/place": "{/rooms/{/place}/exits/{way}}"}}]},
    {"patterns": ["hear {thing:/things}"], "answers": [{"narrative": "Nothing."}]},
    {"patterns": ["throw {thing:/things}"], "when": {"/things/{thing}/at": "me"}, "answers": [
      {"plan": {"tools": [{"toolId": "t", "toolPath": "tools/throw"}]},
       "success": "The {thing} is gone.", "set": {"/things/{thing}": null}}]}
  ]})";
const char* const kRooms = R"({"place":"hall","rooms":{
  "hall":{"lit":true,"text":"A hall.","exits":{"north":"tower"}},
  "tower":{"lit":true,"text":"A tower.","exits":{}},"cave":{"lit":false,"exits":{}}},
  "things":{"rope":{"at":"hall","text":"It is ten feet long."},"crown":{"at":"tower","text":"!"},
  "lamp":{"at":"me","text":"A lamp."}}})";

TEST(TemplateNarrator, NamesOfThingsLeadToTheirValues) {
    const TemplateNarrator narrator(prompts_with(kThings));
    const auto say = [&](const char* prompt, const std::string& state = kRooms) {
        const Answered answered(narrator, {.prompt = prompt, .state = state});
        return answered.narrative() + " " + answered.patch();
    };
    EXPECT_EQ(say("Take the Rope!"),
              R"(It is ten feet long. {"things":{"rope":{"at":"me"}},"taken":["rope"]})");
    EXPECT_EQ(say("take lamp"), "You have the lamp. ");
    EXPECT_EQ(say("take crown"), "No crown here. ");
    EXPECT_EQ(say("take Unicorn"), "What is a Unicorn? ");
    EXPECT_EQ(say("go north"), R"(A tower. {"place":"tower"})")
        << "the change uses the values before it, the text those after it";
    std::string cave = kRooms;
    cave.replace(cave.find("hall"), 4, "cave");
    EXPECT_EQ(say("take rope", cave), "What is a rope? ") << "a condition by name has names, too";
}

TEST(TemplateNarrator, RemembersNamesWhileToolsChangeTheState) {
    const TemplateNarrator narrator(prompts_with(kThings));
    const Answered first(narrator, {.prompt = "throw lamp", .state = kRooms});
    EXPECT_EQ(first.plan().tools.size(), 1u);
    const Answered second(narrator, {.prompt = "throw lamp",
                                     .state = R"({"things":{}})",
                                     .result = R"({"success":true,"toolResults":[]})",
                                     .metadata = first.metadata()});
    EXPECT_EQ(second.narrative(), "The lamp is gone.");
    EXPECT_EQ(second.patch(), R"({"things":{"lamp":null}})");
}

TEST(TemplateNarrator, SuggestsNamesThatHaveAnAnswerNow) {
    const TemplateNarrator narrator(prompts_with(kThings));
    const auto choices = [&](const char* prompt) {
        return Answered(narrator, {.prompt = prompt, .state = kRooms}).choices();
    };
    EXPECT_EQ(choices("throw lmap"), List{"throw lamp"});
    EXPECT_EQ(choices("throw"), List{"throw lamp"}) << "only the lamp is in the hand";
    EXPECT_EQ(choices("go"), List{"go north"});
    EXPECT_EQ(choices("hear lmap"), List{}) << "without a condition, all things would be disclosed";
}

TEST(TemplateNarrator, OffersAChoiceForEachNameAtItsPlace) {
    const TemplateNarrator narrator(prompts_with(R"({
      "conditions": {"here": {"/things/{thing}/at": "{/place}"}},
      "prompts": [{"patterns": ["take {thing:/things}"], "when": "here", "answers": [
        {"narrative": "Taken.", "set": {"/things/{thing}/at": "me", "/place": "hall"},
         "choices": [{"text": "drop {its:/things} {thing}", "when": {"/things/{its}/at": "me"}}]}]}],
      "always": [{"text": "take {thing:/things}", "when": "here"}, "go {way:/rooms/{/place}/exits}"]})"));
    const auto choices = [&](const char* prompt) {
        return Answered(narrator, {.prompt = prompt, .state = kRooms}).choices();
    };
    EXPECT_EQ(choices("take rope"), (List{"drop rope rope", "drop lamp rope", "go north"}));
    EXPECT_EQ(choices("take crown"), (List{"take rope", "go north"}))
        << "the condition by name is that of each name";
    std::string tower = kRooms;
    tower.replace(tower.find("hall"), 4, "tower");
    EXPECT_EQ(Answered(narrator, {.prompt = "take crown", .state = tower}).choices(),
              (List{"drop crown crown", "drop lamp crown", "take rope", "go north"}))
        << "what the entry has captured under the same name does not count";
}

TEST(TemplateNarrator, OffersAHundredNamesOfAPlace) {
    std::string things = "[";
    for (int i = 0; i < 150; ++i) things += (i > 0 ? ",\"" : "\"") + std::to_string(i) + '"';
    const std::string state = "{\"things\":" + things + "]}";
    const auto choices = [&](const char* choice) {
        const TemplateNarrator narrator(
            prompts_with(std::string(R"({"prompts":[],"always":[)") + choice + "]}"));
        return Answered(narrator, {.prompt = "x", .state = state}).choices();
    };
    EXPECT_EQ(choices(R"("take {x:/things}")").size(), 100u);
    EXPECT_EQ(choices(R"({"text":"take {x:/things}","when":{"/things/120":"{x}"}})"),
              List{"take 120"})
        << "only those that are offered count";
}

// ---- rules after each answer

const char* const kClock = R"({
  "prompts": [
    {"patterns": ["wait"], "answers": [{"narrative": "You wait.", "choices": ["go"]}]},
    {"patterns": ["rest"], "answers": [{"narrative": "You rest.", "set": {"/minutes": {"+": 30}}}]},
    {"patterns": ["leave"], "answers": [{"narrative": "You leave.", "ending": "Gone"}]},
    {"patterns": ["roll"], "answers": [
      {"plan": {"narrative": "It rolls.", "tools": [{"toolId": "r", "toolPath": "tools/roll"}]}}]},
    {"patterns": ["plan"], "answers": [{"plan": {"narrative": "You plan.", "tools": []}}]}
  ],
  "conditions": {"late": {"/minutes": {">=": 60}}, "early": {"not": "late"}},
  "after": [
    {"set": {"/minutes": {"+": 5}}},
    {"when": {"all": ["late", {"/hour": 9}]}, "narrative": "It strikes {/hour}.",
     "set": {"/hour": {"+": 1}}, "choices": ["count", {"text": "sleep", "when": "early"}]},
    {"when": {"/hour": 11}, "narrative": "Too late.", "ending": "Late"},
    {"narrative": "The sea is loud."}
  ],
  "always": ["look"]
})";
const char* const kBeforeTheHour = R"({"minutes":55,"hour":9})";

TEST(TemplateNarrator, RuleMayWriteBelowWhatTheAnswerRemoved) {
    const TemplateNarrator narrator(prompts_with(
        R"({"prompts":[{"patterns":["drop"],"answers":[{"narrative":"A","set":{"/lamp":null}}]}],)"
        R"("after":[{"set":{"/lamp/minutes":0}}]})"));
    EXPECT_EQ(Answered(narrator, {.prompt = "drop", .state = R"({"lamp":{"oil":2}})"}).patch(),
              R"({"lamp":{"minutes":0,"oil":null}})");
}

TEST(TemplateNarrator, RulesFollowTheAnswerInOrder) {
    const TemplateNarrator narrator(prompts_with(kClock));
    const Answered early(narrator, {.prompt = "wait", .state = R"({"minutes":0,"hour":9})"});
    EXPECT_EQ(early.narrative(), "You wait.\n\nThe sea is loud.");
    EXPECT_EQ(early.patch(), R"({"minutes":5})");
    EXPECT_EQ(early.choices(), (List{"go", "look"}));
    const Answered late(narrator, {.prompt = "wait", .state = kBeforeTheHour});
    EXPECT_EQ(late.narrative(), "You wait.\n\nIt strikes 10.\n\nThe sea is loud.")
        << "each on the state of the rules before";
    EXPECT_EQ(late.patch(), R"({"minutes":60,"hour":10})");
    EXPECT_EQ(late.choices(), (List{"go", "count", "look"}));
    EXPECT_NE(late.metadata().find(R"("rules":["/after/0","/after/1","/after/3"])"),
              std::string::npos)
        << late.metadata();
    EXPECT_EQ(Answered(narrator, {.prompt = "rest", .state = kBeforeTheHour}).patch(),
              R"({"minutes":90,"hour":10})")
        << "and of the answer";
    EXPECT_EQ(Answered(narrator, {.prompt = "plan", .state = kBeforeTheHour}).narrative(),
              "You plan.\n\nIt strikes 10.\n\nThe sea is loud.");
}

TEST(TemplateNarrator, ARuleTellsWhatAnAnswerHasSet) {
    const TemplateNarrator narrator(prompts_with(
        R"({"prompts":[{"patterns":["go {way}"],"answers":[{"set":{"/place":"{way}"}}]}],)"
        R"("after":[{"narrative":"You are {/place}."}]})"));
    EXPECT_EQ(Answered(narrator, {"go home"}).narrative(), "You are home.");
}

TEST(TemplateNarrator, ARuleCanEndTheStory) {
    const TemplateNarrator narrator(prompts_with(kClock));
    const Answered ended(narrator, {.prompt = "wait", .state = R"({"hour":11})"});
    EXPECT_EQ(ended.narrative(), "You wait.\n\nToo late.") << "no rule follows an ending";
    EXPECT_NE(ended.metadata().find(R"("ending":"Late")"), std::string::npos);
    EXPECT_EQ(ended.choices(), List{});
}

TEST(TemplateNarrator, NoRuleFollowsAnEndingOrAPromptThatIsNotUnderstood) {
    const TemplateNarrator narrator(prompts_with(kClock));
    for (const char* const prompt : {"leave", "dance"}) {
        const Answered answered(narrator, {.prompt = prompt, .state = kBeforeTheHour});
        EXPECT_EQ(answered.patch(), "") << prompt;
        EXPECT_EQ(answered.narrative().find("strikes"), std::string::npos) << prompt;
    }
}

TEST(TemplateNarrator, RulesFollowTheToolsOfAnAnswer) {
    const TemplateNarrator narrator(prompts_with(kClock));
    const Answered first(narrator, {.prompt = "roll", .state = kBeforeTheHour});
    EXPECT_EQ(first.narrative(), "It rolls.");
    EXPECT_TRUE(first.plan().continues);
    EXPECT_EQ(first.patch(), "");
    const Answered then(narrator, {.prompt = "roll",
                                   .state = kBeforeTheHour,
                                   .result = R"({"success":true,"toolResults":[{"toolId":"r",)"
                                             R"("ok":true,"summary":"A four."}]})",
                                   .metadata = first.metadata()});
    EXPECT_EQ(then.narrative(), "A four.\n\nIt strikes 10.\n\nThe sea is loud.")
        << "what the tools said is told, too";
    EXPECT_EQ(then.patch(), R"({"minutes":60,"hour":10})");
}

TEST(TemplateNarrator, DiceChooseTheVariant) {
    const TemplateNarrator narrator(prompts_with(kDoor));
    std::set<std::string> told;
    for (int random = 0; random < 50; ++random) {
        const Asked asked{.prompt = "sing", .random = random};
        const std::string first = Answered(narrator, asked).narrative();
        EXPECT_EQ(Answered(narrator, asked).narrative(), first) << "the same dice, the same text";
        told.insert(first);
    }
    EXPECT_EQ(told, (std::set<std::string>{"la", "li", "lo"}));
}

TEST(TemplateNarrator, OffersWhatThePlayerProbablyMeant) {
    const TemplateNarrator narrator(prompts_with(
        R"({"prompts":[{"patterns":["I open the door"],"answers":[{"narrative":"A"}]},)"
        R"({"patterns":["enter","i"],"answers":[{"narrative":"A"}]},)"
        R"({"patterns":["open the tomb"],"when":{"/key":true},"answers":[{"narrative":"B"}]},)"
        R"({"patterns":["say {x}"],"answers":[{"narrative":"C"}]}],)"
        R"("hints":["enter",{"text":"sleep","when":{"/tired":true}}],"always":["wait"]})"));
    EXPECT_EQ(Answered(narrator, {"open doro"}).choices(),
              (List{"I open the door", "enter", "wait"}));
    EXPECT_EQ(Answered(narrator, {"tomb"}).choices(), (List{"enter", "wait"}))
        << "what has no answer now is not disclosed";
    EXPECT_EQ(Answered(narrator, {.prompt = "tomb", .state = R"({"key":true})"}).choices(),
              (List{"open the tomb", "enter", "wait"}));
    EXPECT_EQ(Answered(narrator, {"say hi"}).choices(), (List{"wait"}));
}

TEST(TemplateNarrator, SuggestsNothingThatAChoiceSaysAlready) {
    const std::string prompts =
        R"({"prompts":[{"patterns":["go door","I open the door"],"answers":[{"narrative":"A"}]}])";
    const auto choices = [](const std::string& text) {
        return Answered(TemplateNarrator(prompts_with(text)), {"go doro"}).choices();
    };
    EXPECT_EQ(choices(prompts + "}"), List{"go door"});
    EXPECT_EQ(choices(prompts + R"(,"always":["I open the door"]})"), List{"I open the door"});
    EXPECT_EQ(choices(prompts + R"(,"hints":["wait"],"always":["look","I open the door"]})"),
              (List{"I open the door", "wait", "look"}))
        << "what was probably meant comes first";
}

TEST(TemplateNarrator, AnAnswerInPlaceOfAFailedOneMayEndTheStory) {
    const TemplateNarrator narrator(
        prompts_with(R"({"prompts":[{"patterns":["t"],"answers":[)"
                     R"({"plan":{"tools":[{"toolId":"x","toolPath":"x"}]}},)"
                     R"({"narrative":"Lost.","ending":"Lost"}]}]})"));
    const Answered lost(narrator, {.prompt = "t",
                                   .disabled = {"x"},
                                   .result = R"({"success":false})",
                                   .metadata = Answered(narrator, {"t"}).metadata()});
    EXPECT_EQ(lost.root().find("metadata").find("ending").text(), "Lost");
}

TEST(TemplateNarrator, EndsTheStoryWithoutChoices) {
    const TemplateNarrator narrator(prompts_with(
        R"({"prompts":[{"patterns":["a"],"answers":[{"narrative":"A","ending":"Lost"}]},)"
        R"({"patterns":["t"],"answers":[{"plan":{"tools":[{"toolId":"x","toolPath":"x"}]},)"
        R"("ending":"Won","failure":"No."}]}],"always":["look"]})"));
    const Answered lost(narrator, {"a"});
    EXPECT_EQ(lost.root().find("metadata").find("ending").text(), "Lost");
    EXPECT_EQ(lost.choices(), List{});
    const Answered tried(narrator, {"t"});
    EXPECT_FALSE(tried.root().find("metadata").find("ending")) << "only after success";
    const auto after = [&](const char* result) {
        return Asked{.prompt = "t", .result = result, .metadata = tried.metadata()};
    };
    const Answered won(narrator, after(R"({"success":true})"));
    EXPECT_EQ(won.root().find("metadata").find("ending").text(), "Won");
    EXPECT_EQ(won.choices(), List{});
    const Answered failed(narrator, after(R"({"success":false})"));
    EXPECT_FALSE(failed.root().find("metadata").find("ending"));
    EXPECT_EQ(failed.choices(), List{"look"});
}

TEST(TemplateNarrator, AlwaysOffersSomeChoices) {
    const TemplateNarrator narrator(prompts_with(
        R"({"prompts":[{"patterns":["a"],"answers":[{"narrative":"A","choices":["b"]}]},)"
        R"({"patterns":["t"],"answers":[{"plan":{"tools":[{"toolId":"x","toolPath":"x"}]}}]}],)"
        R"("always":["look",{"text":"sleep","when":{"/tired":true}}]})"));
    EXPECT_EQ(Answered(narrator, {"a"}).choices(), (List{"b", "look"}));
    EXPECT_EQ(Answered(narrator, {.prompt = "?", .state = R"({"tired":true})"}).choices(),
              (List{"look", "sleep"}));
    EXPECT_TRUE(Answered(narrator, {"t"}).plan().continues) << "they may depend on what it does";
}

TEST(TemplateNarrator, OffersPlainChoicesWithThePlan) {
    const TemplateNarrator narrator(
        prompts_with(R"({"prompts":[{"patterns":["t"],"answers":[{"choices":["b"],)"
                     R"("plan":{"tools":[{"toolId":"x","toolPath":"x"}]}}]}],"always":["look"]})"));
    const Answered answer(narrator, {"t"});
    EXPECT_FALSE(answer.plan().continues);
    EXPECT_EQ(answer.choices(), (List{"b", "look"}));
}

TEST(PromptPattern, MatchIgnoresCaseSpacesAndFinalPunctuation) {
    for (const char* prompt :
         {"light the torch", "LIGHT The Torch", "  light \t the\n\ntorch  ", "light the torch.",
          "Light the torch?!?...", "Light the torch ! ?", "\n light the torch \r\n"}) {
        EXPECT_EQ(matched(" Light  the\ttorch! ", "yes", prompt), "yes") << prompt;
    }
    for (const char* prompt : {"I light a torch, please", "light torch", ".light the, torch"}) {
        EXPECT_EQ(matched("light the torch", "yes", prompt), "yes") << prompt;
    }
    for (const char* prompt : {"light the torches", "light thetorch", "light", "lıght the torch",
                               "light the old torch"}) {
        EXPECT_EQ(matched("light the torch", "yes", prompt), "unmatched") << prompt;
    }
    EXPECT_EQ(matched("über", "yes", "ÜBER"), "yes");
    EXPECT_EQ(matched("what? now", "yes", "What?  Now?"), "yes");
    EXPECT_EQ(matched("say {{x}} now", "yes", "say {x} now"), "yes");
    EXPECT_EQ(matched("x", "yes", "..."), "unmatched");
}

TEST(PromptPattern, CapturesAsFewCharactersAsPossible) {
    struct Case {
        std::string pattern, shown, prompt, expected;
    };
    const Case cases[] = {
        {"light {thing}", "[{thing}]", "light the torch", "[the torch]"},
        {"light {thing} please", "[{thing}]", "Light The Torch, please!", "[The Torch,]"},
        {"{a} and {b}", "[{a}][{b}]", "x and y and z", "[x][y and z]"},
        {"{a} and {b} and {c}", "[{a}][{b}][{c}]", "1 and 2 and 3 and 4", "[1][2][3 and 4]"},
        {"{a} on {b} now", "[{a}][{b}]", "put x on y on z now", "[put x][y on z]"},
        {"{a}", "[{a}]", "  Any  Thing ?! ", "[Any  Thing]"},
        {"go {where}!", "[{where}]", "go North!!!", "[North]"},
        {"{a}{b}", "[{a}][{b}]", "🔥é!", "[🔥][é]"},
        {"{a}{b}c", "[{a}][{b}]", "éxyc", "[é][xy]"},
        {"say {x} twice", "[{x}]", "SAY  Twice twice", "[Twice]"},
        {"{x} x {y}", "[{x}][{y}]", "x x x x x", "[x][x x x]"},
        {"a{x}a{y}a", "[{x}][{y}]", "aaaaa", "[a][a]"},
        {"take {what} from {where}", "[{what}][{where}]", "take the KEY\nfrom  the Door",
         "[the KEY][the Door]"},
        {"{x}", "{{{x}}}", "a", "{a}"},
    };
    for (const Case& each : cases) {
        EXPECT_EQ(matched(each.pattern, each.shown, each.prompt), each.expected)
            << each.pattern << " / " << each.prompt;
    }
}

TEST(PromptPattern, CapturesAtLeastOneCharacter) {
    for (const auto& [pattern, prompt] :
         std::vector<std::pair<std::string, std::string>>{{"light {x}", "light"},
                                                          {"light {x}", "light  !"},
                                                          {"{a} and {b}", "and b"},
                                                          {"{a} and {b}", "a and"},
                                                          {"{a} and {b}", "a and."},
                                                          {"a{x}a", "aa"},
                                                          {"{a}{b}", "x"},
                                                          {"{a}{b}", "é"},
                                                          {"{x}", ""},
                                                          {"{x}", " ?! "},
                                                          {"a{x}bb", "abb"}}) {
        EXPECT_EQ(matched(pattern, "yes", prompt), "unmatched") << pattern << " / " << prompt;
    }
}

// A backtracking matcher would need years for this pattern and prompt.
TEST(PromptPattern, MatchingTimeIsPromptTimesPattern) {
    std::string pattern = "{a0}";
    for (int i = 1; i < 60; ++i) pattern += "aa{a" + std::to_string(i) + "}";
    EXPECT_EQ(matched(pattern + "b", "yes", std::string(1000000, 'a')), "unmatched");
    EXPECT_EQ(matched(pattern + "b", "yes", std::string(1000000, 'a') + "b"), "yes");
    const std::string almost = std::string(200, 'a') + "b";
    EXPECT_EQ(matched("x{p}" + almost + "{q}", "yes", "x" + std::string(1000000, 'a')),
              "unmatched");
}

TEST(PromptPattern, AcceptsAPromptOfOneMegabyte) {
    const std::string long_one(size_t{1} << 20, 'x');
    EXPECT_EQ(matched("say {x}", "{x}", "say " + long_one), long_one);
    EXPECT_EQ(matched("say {x}", "{x}", "say" + std::string(size_t{1} << 20, ' ') + "hi"), "hi");
}

}  // namespace
