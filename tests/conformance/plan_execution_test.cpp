// SPDX-License-Identifier: Apache-2.0
// Spec 003 §13.3 to §13.5 and the plan of spec 004: refused plans, the order of tools, failures,
// and the result. Uses real tools through the host's interface.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <map>

#include "conformance/stage.hpp"

namespace {

using namespace narratoria;
using namespace narratoria::test;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The plan is refused with exactly these faults; no tool starts and no event is published.
void expect_refused(std::string_view plan, const std::vector<std::string>& faults) {
    Stage stage;
    stage.folder.tool("tool", "touch ran\necho '" + kDone + "'");
    EXPECT_EQ(places(stage.refusal(plan)), faults) << plan;
    stage.engine.run_until_idle();
    EXPECT_FALSE(stage.folder.has("ran"));
    EXPECT_THAT(stage.recorder.records, IsEmpty());
    EXPECT_EQ(stage.state(), Json("{}"));
}

std::vector<std::string> ids_of(const std::vector<Record>& records) {
    std::vector<std::string> ids;
    for (const Record& record : records) ids.push_back(record.tool_id);
    return ids;
}

// The maximum number of concurrent tools according to the stream.
int most_at_once(const Recorder& recorder) {
    int now = 0;
    int most = 0;
    for (const Record& record : recorder.records) {
        if (record.kind == Kind::AttemptStarted) most = std::max(most, ++now);
        if (record.kind == Kind::AttemptEnded) --now;
    }
    return most;
}

// Two tools, neither of which can end before the other has started.
void meeting(const Folder& folder, std::string_view one, std::string_view other) {
    const std::string there = folder.fifo(std::string(one) + "-there");
    const std::string back = folder.fifo(std::string(one) + "-back");
    folder.tool(
        one, "echo hello > '" + there + "'\nread -r hello < '" + back + "'\necho '" + kDone + "'");
    folder.tool(other, "read -r hello < '" + there + "'\necho hello > '" + back + "'\necho '" +
                           kDone + "'");
}

// A tool that fails `failures` times and then completes.
void succeeds_after(const Folder& folder, std::string_view name, int failures) {
    folder.tool(name, "echo x >> '" + std::string(name) +
                          ".tries'\n"
                          "[ $(wc -l < '" +
                          std::string(name) + ".tries') -le " + std::to_string(failures) +
                          " ] && { echo '" + kFailed +
                          "'; exit 0; }\n"
                          "echo '" +
                          kDone + "'");
}

// ---- §13.3 the plan

// covers: 003-13.3-request-id, 004-plan-request-id
TEST(PlanDocument, RequestIdIsRequiredAndRepeatedInTheResult) {
    expect_refused(R"({"tools":[]})", {"/requestId plan-field-missing"});
    expect_refused(R"({"requestId":"","tools":[]})", {"/requestId plan-field-empty"});
    expect_refused(R"({"requestId":7,"tools":[]})", {"/requestId plan-field-type"});
    Stage stage;
    EXPECT_EQ(stage.run(R"({"requestId":"№ 7","tools":[]})")["planId"].string(), "№ 7");
}

// covers: 003-13.3-tool-id
TEST(PlanDocument, DuplicateToolIdIsRefused) {
    expect_refused(plan_of({entry("a", "tool"), entry("b", "tool"), entry("a", "tool")}),
                   {"/tools/2/toolId plan-tool-id-unique"});
}

// covers: 004-invocation-ids
TEST(PlanDocument, ToolIdAndToolPathAreNonEmptyStrings) {
    expect_refused(R"({"requestId":"r","tools":[{"toolPath":"tool"},{"toolId":"b"},)"
                   R"({"toolId":"","toolPath":""},{"toolId":3,"toolPath":null}]})",
                   {"/tools/0/toolId plan-field-missing", "/tools/1/toolPath plan-field-missing",
                    "/tools/2/toolId plan-field-empty", "/tools/2/toolPath plan-field-empty",
                    "/tools/3/toolId plan-field-type", "/tools/3/toolPath plan-field-type"});
}

// covers: 004-invocation-input
TEST(PlanDocument, InputIsAnOptionalObject) {
    expect_refused(
        plan_of({entry("a", "tool", R"("input":[1])"), entry("b", "tool", R"("input":null)")}),
        {"/tools/0/input plan-field-type", "/tools/1/input plan-field-type"});
    Stage stage;
    stage.folder.tool("tool", "echo \"$invocation\" > invocation\necho '" + kDone + "'");
    stage.run(plan_of({entry("a", "tool")}));
    EXPECT_EQ(Json(stage.folder.read("invocation"))["input"], Json("{}"));
}

// covers: 003-13.3-dependencies, 004-invocation-dependencies
TEST(PlanDocument, DependenciesAreToolIdsOfThePlan) {
    expect_refused(
        plan_of({entry("a", "tool", R"("dependencies":["nobody"])"),
                 entry("b", "tool", R"("dependencies":"a")"),
                 entry("c", "tool", R"("dependencies":["a",1])")}),
        {"/tools/1/dependencies plan-field-type", "/tools/0/dependencies/0 plan-dependency-known",
         "/tools/2/dependencies/1 plan-field-type"});
}

// covers: 004-plan-narrative
TEST(PlanDocument, NarrativeIsAStringAndPrecedesTheTools) {
    expect_refused(R"({"requestId":"r","narrative":["Once"],"tools":[]})",
                   {"/narrative plan-field-type"});
    Stage stage;
    stage.folder.says("tool", {kDone});
    stage.run(plan_of({entry("a", "tool")}, R"("narrative":"You reach for the torch.")"));
    const Record told = stage.recorder.one(Kind::Narrative);
    EXPECT_EQ(told.body, Json(R"({"text":"You reach for the torch.","source":"plan"})"));
    EXPECT_LT(told.seq, stage.recorder.seq(Kind::ToolStarted, "a"));
}

// covers: 004-plan-tools
TEST(PlanDocument, ToolsAreAnArrayThatMayBeEmpty) {
    expect_refused(R"({"requestId":"r"})", {"/tools plan-field-missing"});
    expect_refused(R"({"requestId":"r","tools":{}})", {"/tools plan-field-type"});
    expect_refused(R"({"requestId":"r","tools":["torch"]})", {"/tools/0 plan-field-type"});
    Stage stage;
    const Json result = stage.run(R"({"requestId":"r","tools":[],"narrative":"Silence."})");
    EXPECT_TRUE(result["success"].boolean());
    EXPECT_EQ(result["toolResults"].size(), 0u);
    EXPECT_EQ(result["narrative"].string(), "Silence.");
}

// covers: 004-plan-parallel
TEST(PlanDocument, ParallelIsABoolean) {
    expect_refused(plan_of({entry("a", "tool")}, R"("parallel":"yes")"),
                   {"/parallel plan-field-type"});
}

// covers: 003-13.3-max-retries
TEST(PlanDocument, MaxRetriesIsZeroToTenAndThreeByDefault) {
    expect_refused(
        plan_of({entry("a", "tool", R"("retryPolicy":{"maxRetries":11})"),
                 entry("b", "tool", R"("retryPolicy":{"maxRetries":-1})"),
                 entry("c", "tool", R"("retryPolicy":{"maxRetries":1.5})")}),
        {"/tools/0/retryPolicy/maxRetries plan-range", "/tools/1/retryPolicy/maxRetries plan-range",
         "/tools/2/retryPolicy/maxRetries plan-field-type"});
    Stage stage;
    stage.folder.says("tool", {kFailed});
    const Json result =
        stage.run(plan_of({entry("default", "tool", R"("retryPolicy":{"backoffMs":0})"),
                           entry("ten", "tool", R"("retryPolicy":{"maxRetries":10,"backoffMs":0})"),
                           entry("none", "tool", R"("retryPolicy":{"maxRetries":0})")}));
    EXPECT_EQ(tool_of(result, "default")["retryCount"].integer(), 3);
    EXPECT_EQ(tool_of(result, "ten")["retryCount"].integer(), 10);
    EXPECT_EQ(tool_of(result, "none")["retryCount"].integer(), 0);
}

// covers: 003-13.3-tool-path
TEST(PlanDocument, ToolPathIsNeverSearchedOnThePath) {
    Folder elsewhere;
    Stage stage;
    const auto says_where = [](const Folder& folder, std::string_view name,
                               std::string_view where) {
        folder.says(name, {event("done", R"("ok":true,"result":)" + json_text(where))});
    };
    says_where(elsewhere, "tool", "absolute");
    says_where(stage.folder, "tools/tool", "relative");
    const Json result = stage.run(
        plan_of({entry("a", elsewhere / "tool"), entry("b", "tools/tool"),
                 entry("c", "./tools/../tools/tool"), entry("d", "true", R"("required":false)")}));
    EXPECT_EQ(tool_of(result, "a")["result"].string(), "absolute");
    EXPECT_EQ(tool_of(result, "b")["result"].string(), "relative");
    EXPECT_EQ(tool_of(result, "c")["result"].string(), "relative");
    EXPECT_EQ(tool_of(result, "d")["errorCode"].string(), "SPAWN_FAILED")
        << "`true` is on the PATH";
}

// covers: 003-13.3-disabled-skills
TEST(PlanDocument, DisabledSkillIsRefused) {
    expect_refused(plan_of({entry("a", "tools/torch-lighter.py"), entry("b", "tool")},
                           R"("disabledSkills":["torch-lighter"])"),
                   {"/tools/0/toolPath plan-skill-disabled"});
}

// covers: 003-13.3-generation-attempt, 003-13.3-parent-plan-id, 003-13.5-generation-attempt
TEST(PlanDocument, HostPlanMetadataIsUsedUnchanged) {
    expect_refused(
        plan_of({}, R"("metadata":{"generationAttempt":0,"parentPlanId":1})"),
        {"/metadata/generationAttempt plan-range", "/metadata/parentPlanId plan-field-type"});
    Stage stage;
    const Json result =
        stage.run(plan_of({}, R"("metadata":{"generationAttempt":3,"parentPlanId":"before"})"));
    EXPECT_EQ(result["generationAttempt"].integer(), 3);
    const Json started = stage.recorder.one(Kind::PlanStarted).body;
    EXPECT_EQ(started["generationAttempt"].integer(), 3);
    EXPECT_EQ(started["parentPlanId"].string(), "before");
    EXPECT_EQ(stage.run(plan_of({}))["generationAttempt"].integer(), 1);
}

// ---- §13.4 rule 1

// covers: 003-13.4.1-detect-cycles
TEST(PlanExecution, CyclesAreReportedBeforeAnyToolRuns) {
    const std::string plan =
        plan_of({entry("free", "tool"), entry("a", "tool", R"("dependencies":["c"])"),
                 entry("b", "tool", R"("dependencies":["a"])"),
                 entry("c", "tool", R"("dependencies":["b","free"])"),
                 entry("self", "tool", R"("dependencies":["self"])"),
                 entry("behind", "tool", R"("dependencies":["a"])")});
    expect_refused(plan, {"/tools/1/dependencies plan-cycle", "/tools/4/dependencies plan-cycle"});
    Stage stage;
    const Json faults = stage.refusal(plan);
    EXPECT_THAT(faults[0]["message"].string(), HasSubstr("a → c → b → a"));
    EXPECT_THAT(faults[1]["message"].string(), HasSubstr("self → self"));
}

// ---- rules 2 to 4: order

// covers: 003-13.4.2-order, 003-13.4.4-sequential
TEST(PlanExecution, ToolsRunInDependencyOrderThenPlanOrder) {
    Stage stage;
    stage.folder.tool("tool", "echo '" + kDone + "'");
    const Json result =
        stage.run(plan_of({entry("d", "tool", R"("dependencies":["b","c"])"),
                           entry("c", "tool", R"("dependencies":["a"])"), entry("free", "tool"),
                           entry("b", "tool", R"("dependencies":["a"])"), entry("a", "tool")}));
    EXPECT_TRUE(result["success"].boolean());
    EXPECT_THAT(ids_of(stage.recorder.of(Kind::ToolStarted)),
                ElementsAre("free", "a", "c", "b", "d"));
    EXPECT_EQ(most_at_once(stage.recorder), 1);
    for (const Json& tool : result["toolResults"].elements()) EXPECT_TRUE(tool["ok"].boolean());
}

// covers: 003-13.4.2-wait, 004-invocation-waits
TEST(PlanExecution, ToolStartsAfterAllItsDependencies) {
    Stage stage({.jobs = 8});
    succeeds_after(stage.folder, "slow", 2);
    stage.folder.says("quick", {kDone});
    stage.folder.tool("after", "wc -l < slow.tries > seen\necho '" + kDone + "'");
    stage.run(plan_of(
        {entry("after", "after", R"("async":true,"dependencies":["slow","quick"])"),
         entry("slow", "slow", R"("async":true,"retryPolicy":{"maxRetries":3,"backoffMs":5})"),
         entry("quick", "quick", R"("async":true)")},
        R"("parallel":true)"));
    EXPECT_EQ(stage.folder.read("seen"), "3\n") << "all attempts of its dependency came first";
    const uint64_t began = stage.recorder.seq(Kind::ToolStarted, "after");
    EXPECT_GT(began, stage.recorder.seq(Kind::ToolEnded, "slow"));
    EXPECT_GT(began, stage.recorder.seq(Kind::ToolEnded, "quick"));
}

// covers: 003-13.4.3-concurrent, 003-13.3-async, 003-13.3-parallel
TEST(PlanExecution, AsyncToolsOfAParallelPlanRunConcurrently) {
    Stage stage({.jobs = 2});
    meeting(stage.folder, "one", "other");
    stage.folder.says("first", {kDone});
    const Json result =
        stage.run(plan_of({entry("first", "first", R"("async":true)"),
                           entry("a", "one", R"("async":true,"dependencies":["first"])"),
                           entry("b", "other", R"("async":true,"dependencies":["first"])")},
                          R"("parallel":true)"));
    EXPECT_TRUE(result["success"].boolean()) << result;
    EXPECT_EQ(most_at_once(stage.recorder), 2);
}

// covers: 003-13.4.3-both-flags, 003-13.3-parallel, 003-13.3-async
TEST(PlanExecution, ToolsRunSequentiallyWithOnlyOneFlag) {
    const struct {
        const char* plan;
        const char* tool;
    } cases[] = {{R"("parallel":false)", R"("async":true)"},
                 {R"("parallel":true)", R"("async":false)"},
                 {R"("narrative":"parallel is false by default")", R"("async":true)"},
                 {R"("parallel":true)", R"("input":{"async":"is false by default"})"}};
    for (const auto& each : cases) {
        Stage stage({.jobs = 8});
        stage.folder.says("tool", {log("running"), kDone});
        std::vector<std::string> tools;
        for (const char* id : {"a", "b", "c", "d"}) tools.push_back(entry(id, "tool", each.tool));
        EXPECT_TRUE(stage.run(plan_of(tools, each.plan))["success"].boolean());
        EXPECT_EQ(most_at_once(stage.recorder), 1) << each.plan << " " << each.tool;
        EXPECT_THAT(ids_of(stage.recorder.of(Kind::ToolStarted)), ElementsAre("a", "b", "c", "d"));
    }
}

// covers: 003-13.3-async
TEST(PlanExecution, SynchronousToolOfAParallelPlanRunsAlone) {
    Stage stage({.jobs = 8});
    stage.folder.says("tool", {log("running"), kDone});
    const char* async = R"("async":true)";
    stage.run(plan_of({entry("a", "tool", async), entry("b", "tool", async), entry("alone", "tool"),
                       entry("c", "tool", async), entry("d", "tool", async)},
                      R"("parallel":true)"));
    const uint64_t began = stage.recorder.seq(Kind::ToolStarted, "alone");
    const uint64_t ended = stage.recorder.seq(Kind::ToolEnded, "alone");
    for (const char* before : {"a", "b"}) {
        EXPECT_LT(stage.recorder.seq(Kind::ToolEnded, before), began) << "running tools end first";
    }
    for (const char* behind : {"c", "d"}) {
        EXPECT_GT(stage.recorder.seq(Kind::ToolStarted, behind), ended) << "nothing overtakes it";
    }
}

// covers: 003-13.4.3-core-limit
TEST(PlanExecution, ConcurrencyIsLimitedToTheCores) {
    cpu_set_t set;
    CPU_ZERO(&set);
    ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
    const int cores = CPU_COUNT(&set);
    Stage stage;
    stage.folder.says("tool", {log("running"), kDone});
    std::vector<std::string> tools;
    for (int i = 0; i < cores * 4; ++i) {
        tools.push_back(entry("t" + std::to_string(i), "tool", R"("async":true)"));
    }
    EXPECT_TRUE(stage.run(plan_of(tools, R"("parallel":true)"))["success"].boolean());
    EXPECT_LE(most_at_once(stage.recorder), cores);
    EXPECT_GE(most_at_once(stage.recorder), std::min(cores, 2));
}

// covers: 003-13.4.3-core-limit
TEST(PlanExecution, CoresAreThoseOfTheAffinityMask) {
    cpu_set_t all;
    CPU_ZERO(&all);
    ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int core = 0; core < CPU_SETSIZE; ++core) {
        if (!CPU_ISSET(core, &all)) continue;
        CPU_SET(core, &one);
        break;
    }
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    Stage stage;
    ASSERT_EQ(sched_setaffinity(0, sizeof all, &all), 0);
    stage.folder.says("tool", {kDone});
    std::vector<std::string> tools;
    for (int i = 0; i < 8; ++i) {
        tools.push_back(entry("t" + std::to_string(i), "tool", R"("async":true)"));
    }
    EXPECT_TRUE(stage.run(plan_of(tools, R"("parallel":true)"))["success"].boolean());
    EXPECT_EQ(most_at_once(stage.recorder), 1)
        << "the mask had one core when the engine was created";
}

// covers: 003-13.4.3-core-limit
TEST(PlanExecution, HostMaySetTheConcurrency) {
    // Six tools that meet in pairs need six slots, whatever the number of cores.
    Stage stage({.jobs = 6});
    std::vector<std::string> tools;
    for (const char* pair : {"x", "y", "z"}) {
        const std::string one = std::string(pair) + "1";
        const std::string other = std::string(pair) + "2";
        meeting(stage.folder, one, other);
        tools.insert(tools.begin(), entry(one, one, R"("async":true)"));
        tools.push_back(entry(other, other, R"("async":true)"));
    }
    EXPECT_TRUE(stage.run(plan_of(tools, R"("parallel":true)"))["success"].boolean());
    EXPECT_GE(most_at_once(stage.recorder), 4);
    EXPECT_LE(most_at_once(stage.recorder), 6);
}

// ---- rule 5: retries

// covers: 003-13.4.5-retry, 003-13.4.5-retry-count, 003-13.5-retry-count
TEST(PlanExecution, FailedToolIsRetriedUntilItSucceeds) {
    Stage stage;
    succeeds_after(stage.folder, "not_ok", 2);
    stage.folder.tool("exits", "[ -e once ] || { touch once; exit 9; }\necho '" + kDone + "'");
    const char* policy = R"("retryPolicy":{"maxRetries":3,"backoffMs":1})";
    const Json result =
        stage.run(plan_of({entry("a", "not_ok", policy), entry("b", "exits", policy)}));
    EXPECT_TRUE(result["success"].boolean());
    const Json tool = tool_of(result, "a");
    EXPECT_EQ(tool["retryCount"].integer(), 2);
    EXPECT_EQ(tool["events"].size(), 3u) << "the events of all attempts";
    ASSERT_EQ(tool["attempts"].size(), 3u);
    EXPECT_EQ(tool["attempts"][0]["code"].string(), "TOOL_FAILED");
    EXPECT_EQ(tool["attempts"][2]["state"].string(), "completed");
    EXPECT_EQ(tool["attempts"][2]["events"], Json(R"({"first":2,"count":1})"));
    EXPECT_EQ(tool_of(result, "b")["retryCount"].integer(), 1);
    EXPECT_EQ(stage.recorder.one(Kind::ToolEnded, "a").body["retryCount"].integer(), 2);
}

// covers: 003-13.4.5-backoff, 003-13.3-backoff
TEST(PlanExecution, BackoffDoublesWithEachRetry) {
    Stage stage;
    stage.folder.says("tool", {kFailed});
    const auto gaps = [&](std::string_view policy) {
        stage.recorder.records.clear();
        std::vector<std::chrono::microseconds> times;
        const uint64_t sink = stage.session.attach(
            [&](Event event) { times.push_back(event.time().time_since_epoch()); },
            kinds(Kind::AttemptStarted, Kind::AttemptEnded));
        stage.run(plan_of({entry("a", "tool", policy)}));
        stage.session.detach(sink);
        std::vector<int64_t> milliseconds;
        for (size_t i = 1; i + 1 < times.size(); i += 2) {
            // Records have microsecond timestamps, but timers count whole milliseconds.
            milliseconds.push_back((times[i + 1] - times[i]).count() / 1000 + 1);
        }
        return milliseconds;
    };
    const std::vector<int64_t> given = gaps(R"("retryPolicy":{"maxRetries":3,"backoffMs":40})");
    ASSERT_EQ(given.size(), 3u);
    EXPECT_GE(given[0], 40);
    EXPECT_GE(given[1], 80);
    EXPECT_GE(given[2], 160);
    const std::vector<int64_t> by_default = gaps(R"("retryPolicy":{"maxRetries":1})");
    ASSERT_EQ(by_default.size(), 1u);
    EXPECT_GE(by_default[0], 100);
}

// covers: 003-13.4.5-exhausted, 003-13.3-required
TEST(PlanExecution, RequiredFlagDecidesAfterTheLastRetry) {
    for (const bool required : {true, false}) {
        Stage stage;
        stage.folder.says("tool", {}, 4);
        stage.folder.says("after", {kDone});
        const Json result = stage.run(plan_of(
            {entry("a", "tool",
                   std::string(R"("retryPolicy":{"maxRetries":2,"backoffMs":0},"required":)") +
                       (required ? "true" : "false")),
             entry("b", "after", R"("dependencies":["a"])")}));
        const Json tool = tool_of(result, "a");
        EXPECT_EQ(tool["state"].string(), "failed");
        EXPECT_EQ(tool["attempts"].size(), 3u);
        EXPECT_EQ(tool["retryCount"].integer(), 2);
        EXPECT_EQ(result["success"].boolean(), !required);
        EXPECT_EQ(tool_of(result, "b")["state"].string(), required ? "skipped" : "completed");
    }
}

// ---- rule 6: failures

// covers: 003-13.4.6-required-dependents, 003-13.3-required, 003-13.5-error
TEST(PlanExecution, DependantsOfAFailedRequiredToolAreSkipped) {
    Stage stage;
    stage.folder.says("fails", {kFailed});
    stage.folder.tool("tool", "touch ran\necho '" + kDone + "'");
    const Json result =
        stage.run(plan_of({entry("a", "fails"), entry("b", "tool", R"("dependencies":["a"])"),
                           entry("c", "tool", R"("dependencies":["b"],"required":false)"),
                           entry("d", "tool", R"("dependencies":["c"])")}));
    EXPECT_FALSE(stage.folder.has("ran"));
    EXPECT_FALSE(result["success"].boolean()) << "`required` is true by default";
    for (const auto& [id, lacks, code] : {std::tuple("b", "\"a\"", "DEPENDENCY_FAILED"),
                                          std::tuple("c", "\"b\"", "DEPENDENCY_SKIPPED"),
                                          std::tuple("d", "\"c\"", "DEPENDENCY_SKIPPED")}) {
        const Json tool = tool_of(result, id);
        EXPECT_EQ(tool["state"].string(), "skipped") << id;
        EXPECT_FALSE(tool["ok"].boolean());
        EXPECT_THAT(tool["error"].string(), HasSubstr(lacks));
        EXPECT_EQ(tool["errorCode"].string(), code);
        EXPECT_EQ(tool["executionTime"].integer(), 0);
        EXPECT_EQ(tool["events"].size(), 0u);
        EXPECT_EQ(tool["attempts"].size(), 0u);
    }
    EXPECT_THAT(result["failedTools"].strings(), ElementsAre("a"))
        << "skipped tools are not listed as failed";
}

// covers: 003-13.4.6-required-fails-plan, 003-13.4.6-independent, 003-13.5-success
TEST(PlanExecution, IndependentToolsContinueInAFailedPlan) {
    Stage stage;
    stage.folder.says("fails", {kFailed});
    stage.folder.says("tool", {patch(R"({"went":"on"})"), kDone});
    const Json result = stage.run(plan_of(
        {entry("a", "fails"), entry("b", "tool"), entry("c", "tool", R"("dependencies":["b"])")}));
    EXPECT_FALSE(result["success"].boolean());
    EXPECT_EQ(tool_of(result, "b")["state"].string(), "completed");
    EXPECT_EQ(tool_of(result, "c")["state"].string(), "completed");
    EXPECT_EQ(stage.state(), Json(R"({"went":"on"})"));
}

// covers: 003-13.4.6-optional-dependents, 003-13.4.6-optional-continues, 003-13.4.6-optional-logged
TEST(PlanExecution, FailedOptionalToolGivesNullToDependants) {
    Stage stage;
    stage.folder.says("fails", {patch(R"({"half":1})"), kFailed});
    stage.folder.says(
        "fine", {patch(R"({"light":{"on":true}})"), event("done", R"("ok":true,"result":[1,2])")});
    stage.folder.tool("after", "echo \"$invocation\" > invocation\necho '" + kDone + "'");
    const Json result =
        stage.run(plan_of({entry("a", "fails", R"("required":false)"), entry("b", "fine"),
                           entry("c", "after", R"("dependencies":["a","b"])")}));
    EXPECT_TRUE(result["success"].boolean());
    EXPECT_EQ(tool_of(result, "c")["state"].string(), "completed");
    const Json invocation(stage.folder.read("invocation"));
    EXPECT_EQ(invocation["dependencies"], Json(R"({"a":null,"b":{"light":{"on":true}}})"));
    EXPECT_EQ(invocation["results"], Json(R"({"b":[1,2]})"));
    EXPECT_THAT(result["failedTools"].strings(), ElementsAre("a"))
        << "optional tools are listed as well";
    EXPECT_EQ(stage.recorder.one(Kind::ToolEnded, "a").body["state"].string(), "failed");
    EXPECT_FALSE(result["canReplan"].boolean());
}

// ---- rule 7: events, and conflicts between concurrent tools

// covers: 003-13.4.7-collect, 003-13.5-events
TEST(PlanExecution, AllEventsAreCollectedVerbatimInOrder) {
    Stage stage;
    const std::string odd =
        R"({ "type" : "log","version":"0", "level":"info",  "message":"\u00e9 é" ,"x":1.0})";
    stage.folder.says("one", {log("1"), odd, kFailed});
    stage.folder.says("two", {log("3"), kDone});
    std::string text;
    stage.session.execute(
        plan_of(
            {entry("a", "one", R"("retryPolicy":{"maxRetries":1,"backoffMs":0},"required":false)"),
             entry("b", "two")}),
        stage.folder.path(), [&](Result result) { text = result.json().view(); });
    stage.engine.run_until_idle();
    const std::string once = log("1") + "," + odd + "," + kFailed;
    EXPECT_THAT(text, HasSubstr("\"events\":[" + once + "," + once + "]"));
    EXPECT_THAT(text, HasSubstr("\"events\":[" + log("3") + "," + kDone + "]"));
    uint64_t last = 0;
    for (const Record& record : stage.recorder.records) EXPECT_EQ(record.seq, ++last);
}

// ---- §13.5 the result

// covers: 003-13.5-narrative, 003-13.5-execution-time, 003-13.5-result
TEST(PlanResult, HasAllFieldsEvenIfNothingRan) {
    Stage stage;
    const Json result = stage.run(plan_of({}));
    EXPECT_THAT(
        result.keys(),
        ::testing::IsSupersetOf({"planId", "success", "narrative", "executionTime", "toolResults",
                                 "failedTools", "generationAttempt", "canReplan"}));
    EXPECT_EQ(result["narrative"].string(), "");
    EXPECT_GE(result["executionTime"].integer(), 0);
    EXPECT_TRUE(result["success"].boolean());
    EXPECT_FALSE(result["canReplan"].boolean());
}

// covers: 003-13.5-execution-time
TEST(PlanResult, TimesAreWholeMillisecondsFromStartToEnd) {
    Stage stage;
    stage.folder.tool("tool", "[ -e once ] || { touch once; exit 1; }\necho '" + kDone + "'");
    const Json result = stage.run(
        plan_of({entry("a", "tool", R"("retryPolicy":{"maxRetries":1,"backoffMs":60})")}));
    const Json tool = tool_of(result, "a");
    EXPECT_GE(tool["executionTime"].integer(), 59) << "the backoff counts";
    EXPECT_GE(result["executionTime"].integer(), tool["executionTime"].integer());
    EXPECT_LT(tool["attempts"][0]["executionTime"].integer(), tool["executionTime"].integer());
}

// covers: 003-13.5-tool-state, 003-13.5-failed-tools, 003-13.5-error, 004-status-set
TEST(PlanResult, ListsEveryToolInThePlansOrderWithItsState) {
    Stage stage;
    stage.folder.says("fine", {kDone});
    stage.folder.says("fails", {kFailed});
    stage.folder.fifo("never");
    stage.folder.tool("hangs", "read -r never < never");
    const Json result =
        stage.run(plan_of({entry("skipped", "fine", R"("dependencies":["failed"])"),
                           entry("late", "hangs", R"("timeoutMs":50,"required":false)"),
                           entry("failed", "fails"), entry("completed", "fine")}));
    const std::vector<std::pair<std::string, std::string>> expected = {{"skipped", "skipped"},
                                                                       {"late", "timeout"},
                                                                       {"failed", "failed"},
                                                                       {"completed", "completed"}};
    ASSERT_EQ(result["toolResults"].size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
        const Json tool = result["toolResults"][i];
        EXPECT_EQ(tool["toolId"].string(), expected[i].first);
        EXPECT_EQ(tool["state"].string(), expected[i].second);
        const bool ok = expected[i].second == "completed";
        EXPECT_EQ(tool["ok"].boolean(), ok);
        EXPECT_EQ(tool.has("error"), !ok) << "exactly the tools that are not ok have an error";
        EXPECT_TRUE(ok || !tool["error"].string().empty());
        const Record ended = stage.recorder.one(Kind::ToolEnded, expected[i].first);
        EXPECT_EQ(ended.body["state"].string(), expected[i].second);
    }
    EXPECT_EQ(tool_of(result, "late")["errorCode"].string(), "TIMEOUT");
    EXPECT_THAT(result["failedTools"].strings(), ElementsAre("late", "failed"));
    EXPECT_THAT(result["disabledSkills"].strings(), ElementsAre("hangs", "fails"));

    // The stream alone reports each status change: pending, running, and the final state.
    std::map<std::string, std::vector<std::string>> statuses;
    for (const Record& record : stage.recorder.records) {
        if (record.kind == Kind::ToolPending) statuses[record.tool_id].push_back("pending");
        if (record.kind == Kind::ToolStarted) statuses[record.tool_id].push_back("running");
        if (record.kind == Kind::ToolEnded) {
            statuses[record.tool_id].push_back(record.body["state"].string());
        }
    }
    EXPECT_THAT(statuses["completed"], ElementsAre("pending", "running", "completed"));
    EXPECT_THAT(statuses["failed"], ElementsAre("pending", "running", "failed"));
    EXPECT_THAT(statuses["late"], ElementsAre("pending", "running", "timeout"));
    EXPECT_THAT(statuses["skipped"], ElementsAre("pending", "skipped"));
}

// covers: 004-status-events, 004-status-exit-code, 003-13.4.8-trace
TEST(PlanResult, TraceHasAttemptsWithEventsAndExitStatus) {
    Stage stage;
    stage.folder.tool("tool", "echo '" + log("trying") +
                                  "'\n[ -e once ] || { touch once; exit 5; }\n"
                                  "echo '" +
                                  kDone + "'");
    const Json tool = tool_of(
        stage.run(plan_of({entry("a", "tool", R"("retryPolicy":{"maxRetries":1,"backoffMs":0})")})),
        "a");
    EXPECT_EQ(tool["events"], Json("[" + log("trying") + "," + log("trying") + "," + kDone + "]"));
    ASSERT_EQ(tool["attempts"].size(), 2u);
    const Json first = tool["attempts"][0];
    EXPECT_EQ(first["attempt"].integer(), 1);
    EXPECT_EQ(first["state"].string(), "failed");
    EXPECT_EQ(first["code"].string(), "EXIT_STATUS");
    EXPECT_EQ(first["exitStatus"].integer(), 5);
    EXPECT_EQ(first["events"], Json(R"({"first":0,"count":1})"));
    const Json second = tool["attempts"][1];
    EXPECT_EQ(second["exitStatus"].integer(), 0);
    EXPECT_EQ(second["events"], Json(R"({"first":1,"count":2})"));
    EXPECT_FALSE(second.has("code"));
}

// covers: 003-13.5-output
TEST(PlanResult, OutputIsTheMergeOfTheLastAttemptsPatches) {
    Stage stage({}, {.state = R"({"torch":{"age":1}})"});
    stage.folder.tool("tool", "[ -e once ] || { touch once; echo '" + patch(R"({"first":1})") +
                                  "'; exit 1; }\necho '" +
                                  patch(R"({"torch":{"lit":true,"fuel":3},"list":[1,2]})") +
                                  "'\necho '" +
                                  patch(R"({"torch":{"fuel":null},"list":[null],"gone":null})") +
                                  "'\necho '" + kDone + "'");
    stage.folder.says("silent", {kDone});
    const Json result =
        stage.run(plan_of({entry("a", "tool", R"("retryPolicy":{"maxRetries":1,"backoffMs":0})"),
                           entry("b", "silent")}));
    EXPECT_EQ(tool_of(result, "a")["output"], Json(R"({"torch":{"lit":true},"list":[null]})"));
    EXPECT_EQ(tool_of(result, "b")["output"], Json("{}"));
    EXPECT_EQ(stage.state(), Json(R"({"first":1,"torch":{"age":1,"lit":true},"list":[null]})"))
        << "the state has the patches of all attempts";
}

// covers: 003-13.5-can-replan
TEST(PlanResult, CanReplanAfterAFailureBelowTheFifthAttempt) {
    Stage stage;
    stage.folder.says("fails", {kFailed});
    const auto can_replan = [&](std::string_view metadata) {
        return stage
            .run(plan_of({entry("a", "fails")},
                         R"("metadata":)" + std::string(metadata)))["canReplan"]
            .boolean();
    };
    EXPECT_TRUE(can_replan("{}"));
    EXPECT_TRUE(can_replan(R"({"generationAttempt":4})"));
    EXPECT_FALSE(can_replan(R"({"generationAttempt":5})"));
    EXPECT_FALSE(can_replan(R"({"generationAttempt":6})"));
    EXPECT_FALSE(stage.run(plan_of({}))["canReplan"].boolean()) << "the plan did not fail";
}

// covers: 003-13.5-can-replan, 003-13.5-tool-state
TEST(PlanResult, CancelledPlanReportsEachToolAndCannotReplan) {
    Stage stage;
    stage.folder.fifo("never");
    stage.folder.tool("hangs", "echo '" + patch(R"({"begun":true})") + "'\nread -r never < never");
    stage.folder.says("fine", {kDone});
    stage.recorder.on_record = [&](const Record& record) {
        if (record.type == Type::StatePatch) stage.session.cancel();
    };
    const Json result =
        stage.run(plan_of({entry("first", "fine"), entry("running", "hangs"),
                           entry("unstarted", "fine", R"("dependencies":["running"])")}));
    EXPECT_FALSE(result["success"].boolean());
    EXPECT_FALSE(result["canReplan"].boolean());
    EXPECT_EQ(tool_of(result, "first")["state"].string(), "completed");
    EXPECT_EQ(tool_of(result, "running")["state"].string(), "failed");
    EXPECT_EQ(tool_of(result, "running")["errorCode"].string(), "CANCELLED");
    EXPECT_EQ(tool_of(result, "running")["output"], Json(R"({"begun":true})"));
    EXPECT_EQ(tool_of(result, "running")["retryCount"].integer(), 0);
    EXPECT_EQ(tool_of(result, "unstarted")["state"].string(), "skipped");
    EXPECT_EQ(tool_of(result, "unstarted")["errorCode"].string(), "CANCELLED");
}

TEST(PlanResult, PlanTimeoutEndsRunningToolsAndSkipsTheRest) {
    Times times;
    times.plan_ms = 80;
    Stage stage({.times = times});
    stage.folder.fifo("never");
    stage.folder.tool("hangs", "read -r never < never");
    stage.folder.says("fine", {kDone});
    const Json result =
        stage.run(plan_of({entry("running", "hangs", R"("retryPolicy":{"maxRetries":3})"),
                           entry("unstarted", "fine")}));
    const Json running = tool_of(result, "running");
    EXPECT_EQ(running["state"].string(), "timeout");
    EXPECT_EQ(running["errorCode"].string(), "PLAN_TIMEOUT");
    EXPECT_EQ(running["retryCount"].integer(), 0) << "no retry after the plan's end";
    EXPECT_EQ(tool_of(result, "unstarted")["state"].string(), "skipped");
    EXPECT_THAT(result["failedTools"].strings(), ElementsAre("running"));
    EXPECT_TRUE(result["canReplan"].boolean());
}

}  // namespace
