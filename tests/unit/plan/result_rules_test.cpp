// SPDX-License-Identifier: Apache-2.0
#include "plan/result_rules.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "unit/case_tables.hpp"

namespace {

using namespace narratoria;
using namespace std::string_literals;

// "pointer rule" for each fault, in the order of the text.
std::vector<std::string> check(std::string_view text) {
    json::Document document;
    json::ParseError error;
    if (!document.parse(text, error)) return {" "s + json::rule_of(error.kind)};
    std::vector<std::string> found;
    size_t byte = 0;
    for (const Fault& fault : plan::check_result(document.root())) {
        EXPECT_FALSE(fault.message.empty());
        EXPECT_GE(fault.byte, byte) << "not in the order of the text: " << fault.message;
        byte = fault.byte;
        found.push_back(fault.pointer + " " + fault.rule);
    }
    return found;
}

std::string tool(const std::string& id, const std::string& rest) {
    return R"({"toolId":")" + id + R"(","output":{},"executionTime":0,"retryCount":0,)" + rest +
           "}";
}

std::string result(const std::string& tools, const std::string& failed,
                   const std::string& success = "false") {
    return R"({"planId":"p","narrative":"","executionTime":1,"generationAttempt":1,)"
           R"("canReplan":false,"success":)" +
           success + R"(,"toolResults":[)" + tools + R"(],"failedTools":)" + failed + "}";
}

const std::string kDone = R"({"version":"0","type":"done","ok":true})";
const std::string kCompleted = R"("ok":true,"state":"completed","events":[)" + kDone + "]";
const std::string kFailed = R"("ok":false,"state":"failed","error":"e","events":[])";
const std::string kSkipped = R"("ok":false,"state":"skipped","error":"e","events":[])";

using List = std::vector<std::string>;

// covers: 003-13.7-result-schema
TEST(ResultRules, MatchTheVerdictsOfTheCorpus) {
    const auto documents = test::sample_documents("result");
    for (const test::SampleDocument& each : documents) {
        const List found = check(each.text);
        EXPECT_EQ(found.empty(), each.verdict == "valid")
            << each.verdict << " " << each.reason << " " << testing::PrintToString(found);
    }
    EXPECT_GT(documents.size(), 80u);
}

TEST(ResultRules, ListEveryFault) {
    EXPECT_EQ(check("{}"), (List{"/planId result-missing", "/success result-missing",
                                 "/narrative result-missing", "/executionTime result-missing",
                                 "/generationAttempt result-missing", "/canReplan result-missing",
                                 "/toolResults result-missing", "/failedTools result-missing"}));
    EXPECT_EQ(check("[]"), List{" result-type"});
    EXPECT_EQ(
        check(R"({"planId":"","success":1,"narrative":null,"executionTime":-1,)"
              R"("generationAttempt":1.5,"canReplan":[],"toolResults":{},)"
              R"("failedTools":[1,"",""],"disabledSkills":[true]})"),
        (List{"/planId result-empty", "/success result-type", "/narrative result-type",
              "/executionTime result-range", "/generationAttempt result-type",
              "/canReplan result-type", "/toolResults result-type", "/failedTools/0 result-type",
              "/failedTools/1 result-empty", "/failedTools/2 result-empty",
              "/failedTools/2 result-failed-tools", "/disabledSkills/0 result-type"}));
}

TEST(ResultRules, PointIntoTools) {
    EXPECT_EQ(check(result(tool("a", kCompleted) + ",1," + tool("", R"("ok":true)"), "[]")),
              (List{"/toolResults/1 result-type", "/toolResults/2/state result-missing",
                    "/toolResults/2/events result-missing", "/toolResults/2/toolId result-empty"}));
    EXPECT_EQ(
        check(result(tool("a", R"("ok":true,"state":"completed","events":[7,{"version":0},)"
                               R"({"version":"1","type":"x"}])"),
                     "[]", "true")),
        (List{"/toolResults/0/events/0 result-type", "/toolResults/0/events/1/type result-missing",
              "/toolResults/0/events/1/version result-type",
              "/toolResults/0/events/2/version event-version",
              "/toolResults/0/events/2/type event-type"}));
}

TEST(ResultRules, StateAndOkAndErrorAgree) {
    EXPECT_EQ(check(result(tool("a", R"("ok":true,"state":"failed","events":[])"), R"(["a"])")),
              List{"/toolResults/0/state result-state"});
    EXPECT_EQ(check(result(tool("a", R"("ok":false,"state":"completed","events":[])"), "[]")),
              (List{"/toolResults/0/error result-missing", "/toolResults/0/state result-state"}));
    EXPECT_EQ(check(result(tool("a", kCompleted + R"(,"error":"e","errorCode":"E")"), "[]")),
              (List{"/toolResults/0/error result-error", "/toolResults/0/errorCode result-error"}));
}

TEST(ResultRules, SkippedToolHasNoAttempts) {
    EXPECT_TRUE(check(result(tool("a", kSkipped), "[]")).empty());
    EXPECT_EQ(
        check(result(R"({"toolId":"a","output":{"x":1},"executionTime":5,"retryCount":1,)"
                     R"("ok":false,"state":"skipped","error":"e","events":[)" +
                         kDone + R"(],"attempts":[{}]})",
                     "[]")),
        (List{"/toolResults/0/output result-skipped", "/toolResults/0/executionTime result-skipped",
              "/toolResults/0/retryCount result-skipped", "/toolResults/0/events result-skipped",
              "/toolResults/0/attempts result-skipped",
              "/toolResults/0/attempts/0/attempt result-missing",
              "/toolResults/0/attempts/0/state result-missing",
              "/toolResults/0/attempts/0/startedAt result-missing",
              "/toolResults/0/attempts/0/executionTime result-missing",
              "/toolResults/0/attempts/0/events result-missing"}));
}

TEST(ResultRules, MergedOutputHasNullsOnlyInsideArrays) {
    auto with_output = [](const std::string& output) {
        return check(result(R"({"toolId":"a","executionTime":0,"retryCount":0,"output":)" + output +
                                "," + kCompleted + "}",
                            "[]", "true"));
    };
    EXPECT_TRUE(with_output(R"({"a":[null,{"b":null}],"c":{"d":0}})").empty());
    EXPECT_EQ(with_output(R"({"a":{"b/c":null},"d":null})"),
              (List{"/toolResults/0/output/a/b~1c result-output-null",
                    "/toolResults/0/output/d result-output-null"}));
}

TEST(ResultRules, FailedToolsAreThoseThatFailedOrTimedOut) {
    const std::string timed_out = R"("ok":false,"state":"timeout","error":"e","events":[])";
    const std::string tools = tool("a", kCompleted) + "," + tool("b", kFailed) + "," +
                              tool("c", timed_out) + "," + tool("d", kSkipped);
    EXPECT_TRUE(check(result(tools, R"(["c","b"])")).empty());
    EXPECT_EQ(check(result(tools, R"(["b"])")), List{"/failedTools result-failed-tools"});
    EXPECT_EQ(check(result(tools, R"(["a","b","c","d","e","b"])")),
              (List{"/failedTools/0 result-failed-tools", "/failedTools/3 result-failed-tools",
                    "/failedTools/4 result-failed-tools", "/failedTools/5 result-failed-tools"}));
    EXPECT_EQ(check(result(tool("a", kCompleted) + "," + tool("a", kCompleted), "[]", "true")),
              List{"/toolResults/1/toolId result-tool-id-unique"});
}

TEST(ResultRules, AttemptsLieWithinTheEventsIfPresent) {
    auto attempts = [](const std::string& first, const std::string& count) {
        return R"(,"attempts":[{"attempt":1,"state":"completed","exitStatus":0,)"
               R"("startedAt":"2026-01-24T18:30:00Z","executionTime":1,"events":{"first":)" +
               first + R"(,"count":)" + count + "}}]";
    };
    const std::string no_events = R"("ok":true,"state":"completed","events":[])";
    EXPECT_TRUE(check(result(tool("a", kCompleted + attempts("0", "1")), "[]", "true")).empty());
    EXPECT_TRUE(check(result(tool("a", kCompleted + attempts("1", "0")), "[]", "true")).empty());
    EXPECT_EQ(check(result(tool("a", kCompleted + attempts("1", "1")), "[]", "true")),
              List{"/toolResults/0/attempts/0/events result-attempt-events"});
    EXPECT_EQ(check(result(tool("a", kCompleted + attempts("1e300", "0")), "[]", "true")),
              List{"/toolResults/0/attempts/0/events result-attempt-events"});
    EXPECT_TRUE(check(result(tool("a", no_events + attempts("0", "9")), "[]", "true")).empty());
    EXPECT_EQ(check(result(tool("a", no_events + attempts("0", "9")) + "," + tool("b", kCompleted),
                           "[]", "true")),
              List{"/toolResults/0/attempts/0/events result-attempt-events"});
}

TEST(ResultRules, CanReplanOnlyAfterAFailureBeforeTheFifth) {
    auto replan = [](const std::string& success, const std::string& attempt) {
        return check(R"({"planId":"p","narrative":"","executionTime":1.0,"generationAttempt":)" +
                     attempt + R"(,"canReplan":true,"success":)" + success +
                     R"(,"toolResults":[],"failedTools":[]})");
    };
    EXPECT_TRUE(replan("false", "4").empty());
    EXPECT_EQ(replan("true", "1"), List{"/canReplan result-can-replan"});
    EXPECT_EQ(replan("false", "5"), List{"/canReplan result-can-replan"});
    EXPECT_EQ(replan("false", "1e300"), List{"/canReplan result-can-replan"});
}

}  // namespace
