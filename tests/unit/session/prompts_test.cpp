// SPDX-License-Identifier: Apache-2.0
#include "session/prompts.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "unit/case_tables.hpp"
#include "unit/session/places.hpp"

namespace narratoria::session {
namespace {

std::vector<std::string> faults_of(std::string_view prompts) {
    Faults faults;
    read_prompts(prompts, faults);
    return places(faults);
}

std::string message_of(std::string_view prompts) {
    Faults faults;
    read_prompts(prompts, faults);
    return faults.size() == 1 ? faults[0].message : std::to_string(faults.size()) + " faults";
}

using List = std::vector<std::string>;

// The check gives each sample document the verdict of its table.
TEST(Prompts, MatchTheVerdictsOfTheCorpus) {
    const auto documents = test::sample_documents("prompts");
    for (const test::SampleDocument& each : documents) {
        const List found = faults_of(each.text);
        EXPECT_EQ(found.empty(), each.verdict == "valid")
            << each.verdict << " " << each.reason << " " << testing::PrintToString(found);
    }
    EXPECT_GT(documents.size(), 35u);
}

TEST(Prompts, TheSameTextIsParsedOnce) {
    const std::string text = R"({"prompts":[{"patterns":["a"],"answers":[{"narrative":"b"}]}]})";
    Faults faults;
    const auto first = read_prompts(text, faults);
    EXPECT_EQ(read_prompts(std::string(text), faults), first);
    EXPECT_NE(read_prompts(text + " ", faults), first);
    EXPECT_TRUE(faults.empty());
}

TEST(Prompts, FaultsAreReportedEachTime) {
    EXPECT_EQ(faults_of("{}"), faults_of("{}"));
    EXPECT_EQ(faults_of("{}").size(), 1u);
}

TEST(Prompts, InvalidJsonIsReportedWithItsPosition) {
    EXPECT_EQ(faults_of("{\n  \"prompts\": [\n}"), List{"prompts.json:3:1  json-syntax"});
    EXPECT_EQ(faults_of(""), List{"prompts.json:1:1  json-empty"});
    EXPECT_EQ(faults_of("[]"), List{"prompts.json:1:1  prompts-type"});
}

TEST(Prompts, EveryFaultHasAPosition) {
    EXPECT_EQ(faults_of(R"({
 "prompts": [
  {"pattern": [], "patterns": ["", 1, "{a", "x {prompt}", "{a} {a}", "ok"], "answers": [
   {"narrative": ""}, {"plan": {}, "narrative": "x"}, {}, 1, {"narrative": 2}
  ]},
  {"patterns": [], "answers": {}},
  {}
 ],
 "unmatched": {"narrative": "{thing}"}
})"),
              (List{"prompts.json:3:4 /prompts/0/pattern prompts-key",
                    "prompts.json:3:32 /prompts/0/patterns/0 prompts-pattern",
                    "prompts.json:3:36 /prompts/0/patterns/1 prompts-type",
                    "prompts.json:3:39 /prompts/0/patterns/2 prompts-pattern",
                    "prompts.json:3:45 /prompts/0/patterns/3 prompts-pattern",
                    "prompts.json:3:59 /prompts/0/patterns/4 prompts-pattern",
                    "prompts.json:4:18 /prompts/0/answers/0/narrative prompts-empty",
                    "prompts.json:4:32 /prompts/0/answers/1/plan/tools plan-field-missing",
                    "prompts.json:4:55 /prompts/0/answers/2 prompts-answer",
                    "prompts.json:4:59 /prompts/0/answers/3 prompts-type",
                    "prompts.json:4:76 /prompts/0/answers/4/narrative prompts-type",
                    "prompts.json:6:16 /prompts/1/patterns prompts-empty",
                    "prompts.json:6:31 /prompts/1/answers prompts-type",
                    "prompts.json:7:3 /prompts/2/patterns prompts-missing",
                    "prompts.json:7:3 /prompts/2/answers prompts-missing",
                    "prompts.json:9:29 /unmatched/narrative prompts-name"}));
}

TEST(Prompts, FollowTheRulesOfPlans) {
    EXPECT_EQ(faults_of(R"({"prompts":[{"patterns":["x"],"answers":[{"narrative":"n"},
{"plan":{"tools":[{"toolId":"a","toolPath":"t","dependencies":["b"]},{"toolId":"a"},
{"toolId":"c","toolPath":"tools/d.py","retryPolicy":{"maxRetries":11}}],"disabledSkills":["d"]}}]}]})"),
              (List{"prompts.json:2:64 /prompts/0/answers/1/plan/tools/0/dependencies/0 "
                    "plan-dependency-known",
                    "prompts.json:2:70 /prompts/0/answers/1/plan/tools/1/toolPath "
                    "plan-field-missing",
                    "prompts.json:2:80 /prompts/0/answers/1/plan/tools/1/toolId "
                    "plan-tool-id-unique",
                    "prompts.json:3:26 /prompts/0/answers/1/plan/tools/2/toolPath "
                    "plan-skill-disabled",
                    "prompts.json:3:67 /prompts/0/answers/1/plan/tools/2/retryPolicy/maxRetries "
                    "plan-range"}));
    auto plan = [](const std::string& request_id) {
        return R"({"prompts":[],"unmatched":{"plan":{)" + request_id + R"("tools":[]}}})";
    };
    EXPECT_EQ(faults_of(plan("")), List{}) << "a missing requestId is generated";
    EXPECT_EQ(faults_of(plan(R"("requestId":"p{prompt}",)")), List{});
    EXPECT_EQ(faults_of(plan(R"("requestId":"",)")),
              List{"prompts.json:1:48 /unmatched/plan/requestId plan-field-empty"});
    EXPECT_EQ(faults_of(plan(R"("requestId":null,)")),
              List{"prompts.json:1:48 /unmatched/plan/requestId plan-field-type"});
}

TEST(Prompts, NamesAreCheckedInEveryStringOfAPlan) {
    EXPECT_EQ(faults_of(R"({"prompts":[{"patterns":["light {thing}"],"answers":[{"plan":
{"narrative":"{thing}","tools":[{"toolId":"t","toolPath":"t","input":{"{key}":["{thnig}",{"a":"}"}]}}]}
}]}]})"),
              (List{"prompts.json:2:80 "
                    "/prompts/0/answers/0/plan/tools/0/input/{key}/0 prompts-name",
                    "prompts.json:2:95 "
                    "/prompts/0/answers/0/plan/tools/0/input/{key}/1/a prompts-template"}))
        << "keys are not replaced, so they are not checked";
}

TEST(Prompts, RulesAndNamedConditionsAreChecked) {
    EXPECT_EQ(faults_of(R"({"prompts":[],
"conditions":{"dark":{"/lit":false},"b":{"not":"drak"},"c":{"/a":{">":"x"}}},
"after":[{"wen":"dark","set":{}},{"when":"drak","narrative":"n"},{"when":"dark"},
 {"when":{"any":["dark","lit"]},"set":{"/a":{"plus":1}},"ending":1,"choices":[1]},{"narrative":"{x}"},7]})"),
              (List{"prompts.json:2:48 /conditions/b/not prompts-condition",
                    "prompts.json:2:71 /conditions/c/~1a/> prompts-condition",
                    "prompts.json:3:11 /after/0/wen prompts-key",
                    "prompts.json:3:42 /after/1/when prompts-condition",
                    "prompts.json:3:66 /after/2 prompts-answer",
                    "prompts.json:4:25 /after/3/when/any/1 prompts-condition",
                    "prompts.json:4:53 /after/3/set/~1a/plus prompts-set",
                    "prompts.json:4:66 /after/3/ending prompts-type",
                    "prompts.json:4:79 /after/3/choices/0 prompts-type",
                    "prompts.json:4:96 /after/4/narrative prompts-name",
                    "prompts.json:4:103 /after/5 prompts-type"}));
    const auto rule = [](const std::string& text) {
        return message_of(R"({"prompts":[],"conditions":{"dark":{"/lit":false}},"after":[)" + text +
                          "]}");
    };
    EXPECT_EQ(rule(R"({"when":"drak","set":{}})"),
              "there is no condition \"drak\"; did you mean \"dark\"?");
    EXPECT_EQ(
        rule(R"({"when":"noon","set":{}})"),
        "there is no condition \"noon\"; define it in \"conditions\", above those that use it");
    EXPECT_EQ(message_of(R"({"prompts":[],"conditions":{"a":{"not":"b"},"b":{"/lit":true}}})"),
              "the condition \"b\" is defined below; a condition may name only those above it");
    EXPECT_EQ(
        rule(R"({"when":{"/has":{"contains":"{thing}"}},"set":{}})"),
        "{thing} has no value here: only the entry of a pattern has what the pattern captures; "
        "use {prompt}, and {{ and }} for braces");
    EXPECT_EQ(message_of(R"({"prompts":[{"patterns":["take {x}","get {y}"],"when":"b",)"
                         R"("answers":[{"narrative":"n"}]}],)"
                         R"("conditions":{"a":{"/at/{y}":"{/place}"},"b":{"not":"a"}}})"),
              "the condition \"b\" needs {y}, which has no value here: not every pattern of this "
              "entry captures it");
    EXPECT_EQ(rule(R"({"choices":[{"text":"take {x:/has}","when":{"/at":"{x:/has}"}}]})"),
              "{x:/has} belongs in a pattern or a choice; write {x} here");
    EXPECT_EQ(rule(R"({"when":{"/has":{"count":{"in":[1]}}},"set":{}})"),
              "\"in\" does not compare numbers; there are =, !=, <, <=, > and >=");
    EXPECT_EQ(rule(R"({"choices":["{x:/has} {y:/has}"]})"),
              "a choice has at most one name such as {thing:/things}");
    EXPECT_EQ(rule(R"({"choices":["{prompt:/has}"]})"),
              "{prompt} has a value already; choose a different name for the choice");
    EXPECT_EQ(rule(R"({"narative":"n","set":{}})"),
              "\"narative\" is not a key here; did you mean \"narrative\"?");
    EXPECT_EQ(rule(R"({"when":"dark"})"),
              "a rule needs \"narrative\", \"set\", \"choices\" or \"ending\"");
}

TEST(Prompts, ConditionsNeedTheCapturesOfThoseTheyNameOnce) {
    std::string conditions = R"("0":{"/at":"{t}","/in":"{u}"},"0":{"any":["0"]})";
    for (int i = 1; i < 60; ++i) {
        const std::string before = '"' + std::to_string(i - 1) + '"';
        conditions += ",\"" + std::to_string(i) + "\":{\"all\":[" + before + "," + before + "]}";
    }
    EXPECT_EQ(faults_of("{\"prompts\":[],\"conditions\":{" + conditions + "}}"), List{});
}

TEST(Prompts, MessagesSayWhatToDo) {
    auto pattern = [](const std::string& text) {
        return message_of(R"({"prompts":[{"patterns":[")" + text +
                          R"("],"answers":[{"narrative":"n"}]}]})");
    };
    EXPECT_EQ(pattern("light {thing"),
              "in the pattern \"light {thing\": a { without a } after it; write {{ for a brace");
    EXPECT_EQ(pattern("light }"),
              "in the pattern \"light }\": a } without a { before it; "
              "write }} for a brace");
    EXPECT_EQ(pattern("{}"),
              "in the pattern \"{}\": {} has no name; write {thing}, or {{}} for "
              "the braces");
    EXPECT_EQ(pattern("{1}"),
              "in the pattern \"{1}\": the name between { and } must have only letters, "
              "digits and _, and not begin with a digit; write {{ and }} for braces");
    EXPECT_EQ(pattern("{x:things}"),
              "in the pattern \"{x:things}\": what follows the : must be a JSON Pointer into the "
              "state, such as {thing:/things}");
    EXPECT_EQ(pattern("{x:/at/{y}} {y}"),
              "in the pattern \"{x:/at/{y}} {y}\": the place in {x:/at/{y}} may contain names of "
              "the state, such as {/place}, and no others");
    EXPECT_EQ(pattern("take {x|y}"),
              "in the pattern \"take {x|y}\": a pattern has no text for a missing name; write {x} "
              "without the |");
    EXPECT_EQ(pattern(" ?! "),
              "in the pattern \" ?! \": a pattern needs more than white space and "
              ". ! ?");
    EXPECT_EQ(message_of(R"({"prompts":[],"synonyms":{"inventory":["i"]}})"),
              "\"i\" has no word that is not ignored; \"ignore\" replaces the list of ignored "
              "words");
    EXPECT_EQ(message_of(R"({"prompts":[{"patterns":["a {b} {c}","{c}"],"answers":)"
                         R"([{"narrative":"{b} {c} {prompt}"}]}]})"),
              "{b} has no value here: not every pattern of this entry captures it; use "
              "{prompt}, {c}, and {{ and }} for braces");
}

}  // namespace
}  // namespace narratoria::session
