// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace narratoria;
using namespace std::string_literals;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

struct Parsed {
    bool ok;
    std::unique_ptr<plan::Plan> plan = std::make_unique<plan::Plan>();
    Faults faults;
};

Parsed parse(std::string_view text) {
    Parsed parsed{};
    parsed.ok = parsed.plan->parse(text, parsed.faults);
    EXPECT_EQ(parsed.ok, parsed.faults.empty());
    return parsed;
}

std::vector<uint32_t> row(const plan::Edges& edges, uint32_t tool) {
    const auto range = edges.of(tool);
    return {range.begin(), range.end()};
}

// "pointer rule" for each fault.
std::vector<std::string> faults_of(std::string_view text) {
    std::vector<std::string> all;
    for (const Fault& fault : parse(text).faults) {
        EXPECT_FALSE(fault.message.empty());
        all.push_back(fault.pointer + " " + fault.rule);
    }
    return all;
}

std::string with_tool(std::string_view members) {
    return R"({"requestId":"r","tools":[{"toolId":"a","toolPath":"p",)" + std::string(members) +
           "}]}";
}

std::string list_of(size_t count, const std::function<std::string(size_t)>& element) {
    std::string text = "[";
    for (size_t i = 0; i < count; ++i) text += (i > 0 ? "," : "") + element(i);
    return text + "]";
}

// User time only: on a machine short of memory, paging dominates the system time.
double processor_seconds() {
    rusage used{};
    getrusage(RUSAGE_THREAD, &used);
    return static_cast<double>(used.ru_utime.tv_sec) +
           static_cast<double>(used.ru_utime.tv_usec) / 1e6;
}

// The limit is ten times what a sanitizer build needs and a tenth of what quadratic work would
// take.
void expect_quick(const std::function<void()>& work) {
    const double start = processor_seconds();
    work();
    EXPECT_LT(processor_seconds() - start, 10.0);
}

// ---- accepted plans

TEST(Plan, ReadsEveryFieldAndItsDefault) {
    const Parsed parsed = parse(R"({
        "requestId": "r", "narrative": "Once", "parallel": true, "disabledSkills": ["x", "y"],
        "metadata": {"generationAttempt": 2, "parentPlanId": "before", "more": 1}, "unknown": {},
        "tools": [
          {"toolId": "a", "toolPath": "tools/a.sh"},
          {"toolId": "b", "toolPath": "b", "input": {"x": [1]}, "dependencies": ["a"],
           "required": false, "async": true, "retryPolicy": {"maxRetries": 0, "backoffMs": 7},
           "environment": {"NAME": "value"}, "timeoutMs": 1500}]})");
    ASSERT_TRUE(parsed.ok);
    const plan::Plan& plan = *parsed.plan;
    EXPECT_EQ(plan.request_id, "r");
    EXPECT_EQ(plan.narrative, "Once");
    EXPECT_TRUE(plan.parallel);
    EXPECT_THAT(plan.disabled_skills, ElementsAre("x", "y"));
    EXPECT_TRUE(plan.has_generation_attempt);
    EXPECT_EQ(plan.generation_attempt, 2);
    EXPECT_EQ(plan.parent_plan_id, "before");

    ASSERT_EQ(plan.tools.size(), 2u);
    const plan::Tool& bare = plan.tools[0];
    EXPECT_EQ(bare.tool_id, "a");
    EXPECT_EQ(bare.tool_path, "tools/a.sh");
    EXPECT_EQ(bare.input, "{}");
    EXPECT_FALSE(bare.environment);
    EXPECT_FALSE(bare.try_ms);
    EXPECT_EQ(bare.max_retries, 3u);
    EXPECT_EQ(bare.backoff_ms, 100u);
    EXPECT_TRUE(bare.required);
    EXPECT_FALSE(bare.async);
    const plan::Tool& full = plan.tools[1];
    EXPECT_EQ(full.input, R"({"x": [1]})");
    EXPECT_EQ(full.environment.find("NAME").text(), "value");
    EXPECT_EQ(full.try_ms, 1500u);
    EXPECT_EQ(full.max_retries, 0u);
    EXPECT_EQ(full.backoff_ms, 7u);
    EXPECT_FALSE(full.required);
    EXPECT_TRUE(full.async);
}

TEST(Plan, MetadataMayBeLeftOutAndParentMayBeNull) {
    const Parsed parsed = parse(R"({"requestId":"r","tools":[],"metadata":{"parentPlanId":null}})");
    ASSERT_TRUE(parsed.ok);
    EXPECT_FALSE(parsed.plan->has_generation_attempt);
    EXPECT_EQ(parsed.plan->generation_attempt, 1);
    EXPECT_FALSE(parsed.plan->parent_plan_id);
    EXPECT_FALSE(parsed.plan->parallel);
    EXPECT_THAT(parsed.plan->tools, IsEmpty());
}

TEST(Plan, TextsWithEscapesAreDecoded) {
    const Parsed parsed =
        parse(R"({"requestId":"\u0072\n","tools":[{"toolId":"\ud83d\udd25","toolPath":"a\/b"},)"
              R"({"toolId":"b","toolPath":"p","dependencies":["🔥"]}]})");
    ASSERT_TRUE(parsed.ok);
    EXPECT_EQ(parsed.plan->request_id, "r\n");
    EXPECT_EQ(parsed.plan->tools[0].tool_id, "🔥");
    EXPECT_EQ(parsed.plan->tools[0].tool_path, "a/b");
    EXPECT_THAT(row(parsed.plan->dependencies, 1), ElementsAre(0u));
}

TEST(Plan, LastDuplicateKeyWins) {
    const Parsed parsed =
        parse(R"({"requestId":1,"requestId":"r","tools":7,"tools":[)"
              R"({"toolId":"","toolId":"a","toolPath":"p","async":1,"async":true}]})");
    ASSERT_TRUE(parsed.ok);
    EXPECT_EQ(parsed.plan->request_id, "r");
    EXPECT_TRUE(parsed.plan->tools[0].async);
}

TEST(Plan, DependenciesAreIndexedBothWaysWithoutDuplicates) {
    const Parsed parsed = parse(
        R"({"requestId":"r","tools":[{"toolId":"d","toolPath":"p","dependencies":["b","c","b","a"]},)"
        R"({"toolId":"b","toolPath":"p","dependencies":["a"]},{"toolId":"c","toolPath":"p"},)"
        R"({"toolId":"a","toolPath":"p"}]})");
    ASSERT_TRUE(parsed.ok);
    EXPECT_THAT(row(parsed.plan->dependencies, 0), ElementsAre(1u, 2u, 3u));
    EXPECT_THAT(row(parsed.plan->dependencies, 1), ElementsAre(3u));
    EXPECT_THAT(row(parsed.plan->dependencies, 2), IsEmpty());
    EXPECT_THAT(row(parsed.plan->dependents, 3), ElementsAre(0u, 1u));
    EXPECT_THAT(row(parsed.plan->dependents, 1), ElementsAre(0u));
}

TEST(Plan, WholeNumbersMayHaveAnyNotation) {
    const Parsed parsed =
        parse(with_tool(R"("retryPolicy":{"maxRetries":3.0,"backoffMs":1e3},"timeoutMs":0)"));
    ASSERT_TRUE(parsed.ok);
    EXPECT_EQ(parsed.plan->tools[0].max_retries, 3u);
    EXPECT_EQ(parsed.plan->tools[0].backoff_ms, 1000u);
    EXPECT_EQ(parsed.plan->tools[0].try_ms, 0u);
}

TEST(Plan, KeepsNoReferenceToTheText) {
    auto text = std::make_unique<std::string>(with_tool(R"("input":{"k":"v"})"));
    const Parsed parsed = parse(*text);
    *text = std::string(text->size(), '#');
    text.reset();
    EXPECT_EQ(parsed.plan->tools[0].tool_id, "a");
    EXPECT_EQ(parsed.plan->tools[0].input, R"({"k":"v"})");
}

TEST(Plan, SkillIsTheFileNameWithoutExtension) {
    EXPECT_EQ(plan::skill_of("torch-lighter"), "torch-lighter");
    EXPECT_EQ(plan::skill_of("tools/torch-lighter.py"), "torch-lighter");
    EXPECT_EQ(plan::skill_of("/opt/story.v2/tools/torch"), "torch");
    EXPECT_EQ(plan::skill_of("a.tar.gz"), "a.tar");
    EXPECT_EQ(plan::skill_of("tools/.hidden"), ".hidden");
    EXPECT_EQ(plan::skill_of("tools/"), "");
}

// ---- refused plans and the places of their faults

// covers: 003-13.3-plan-document
TEST(PlanFaults, EachNamesItsPositionAndRule) {
    const struct {
        std::string text;
        std::vector<std::string> faults;
    } cases[] = {
        {"", {" json-empty"}},
        {"[]", {" plan-object"}},
        {"null", {" plan-object"}},
        {"{}", {"/requestId plan-field-missing", "/tools plan-field-missing"}},
        {R"({"requestId":null,"tools":[]})", {"/requestId plan-field-type"}},
        {R"({"requestId":"","tools":[]})", {"/requestId plan-field-empty"}},
        {R"({"requestId":"r","tools":[],"narrative":null})", {"/narrative plan-field-type"}},
        {R"({"requestId":"r","tools":[],"parallel":"true"})", {"/parallel plan-field-type"}},
        {R"({"requestId":"r","tools":[],"disabledSkills":"x"})",
         {"/disabledSkills plan-field-type"}},
        {R"({"requestId":"r","tools":[],"disabledSkills":["x",1,null]})",
         {"/disabledSkills/1 plan-field-type", "/disabledSkills/2 plan-field-type"}},
        {R"({"requestId":"r","tools":[],"metadata":[]})", {"/metadata plan-field-type"}},
        {R"({"requestId":"r","tools":[],"metadata":{"generationAttempt":1.5}})",
         {"/metadata/generationAttempt plan-field-type"}},
        {R"({"requestId":"r","tools":[],"metadata":{"generationAttempt":0}})",
         {"/metadata/generationAttempt plan-range"}},
        {R"({"requestId":"r","tools":[],"metadata":{"parentPlanId":{}}})",
         {"/metadata/parentPlanId plan-field-type"}},
        {R"({"requestId":"r","tools":[null,[],"a"]})",
         {"/tools/0 plan-field-type", "/tools/1 plan-field-type", "/tools/2 plan-field-type"}},
        {with_tool(R"("required":1,"async":"no")"),
         {"/tools/0/required plan-field-type", "/tools/0/async plan-field-type"}},
        {with_tool(R"("input":"x")"), {"/tools/0/input plan-field-type"}},
        {with_tool(R"("retryPolicy":3)"), {"/tools/0/retryPolicy plan-field-type"}},
        {with_tool(R"("retryPolicy":{"maxRetries":11,"backoffMs":-1})"),
         {"/tools/0/retryPolicy/maxRetries plan-range",
          "/tools/0/retryPolicy/backoffMs plan-range"}},
        {with_tool(R"("retryPolicy":{"maxRetries":"3","backoffMs":0.5})"),
         {"/tools/0/retryPolicy/maxRetries plan-field-type",
          "/tools/0/retryPolicy/backoffMs plan-field-type"}},
        {with_tool(R"("retryPolicy":{"backoffMs":1e300})"),
         {"/tools/0/retryPolicy/backoffMs plan-field-type"}},
        {with_tool(R"("timeoutMs":-1)"), {"/tools/0/timeoutMs plan-range"}},
        {with_tool(R"("timeoutMs":true)"), {"/tools/0/timeoutMs plan-field-type"}},
        {with_tool(R"("environment":[])"), {"/tools/0/environment plan-field-type"}},
        {with_tool(R"("environment":{"A":1,"B":"x\u0000","C/~":null})"),
         {"/tools/0/environment/A plan-field-type", "/tools/0/environment/B plan-environment",
          "/tools/0/environment/C~1~0 plan-field-type"}},
        {with_tool(R"("environment":{"":"x","A=B":"x"})"),
         {"/tools/0/environment/ plan-environment", "/tools/0/environment/A=B plan-environment"}},
        {R"({"requestId":"r","tools":[{"toolId":"a","toolPath":"p\u0000q"}]})",
         {"/tools/0/toolPath plan-tool-path"}},
        {with_tool(R"("dependencies":{"a":1})"), {"/tools/0/dependencies plan-field-type"}},
        {with_tool(R"("dependencies":["b",null])"),
         {"/tools/0/dependencies/0 plan-dependency-known",
          "/tools/0/dependencies/1 plan-field-type"}},
        {with_tool(R"("dependencies":["a"])"), {"/tools/0/dependencies plan-cycle"}},
    };
    for (const auto& each : cases) EXPECT_EQ(faults_of(each.text), each.faults) << each.text;
}

TEST(PlanFaults, AllFaultsAreListed) {
    EXPECT_THAT(
        faults_of(R"({"parallel":0,"tools":[{"toolId":"a"},{"toolId":"a","toolPath":"p",)"
                  R"("dependencies":["x"]}]})"),
        ElementsAre("/requestId plan-field-missing", "/parallel plan-field-type",
                    "/tools/0/toolPath plan-field-missing", "/tools/1/toolId plan-tool-id-unique",
                    "/tools/1/dependencies/0 plan-dependency-known"));
}

TEST(PlanFaults, ASimilarToolIdIsSuggestedForADependency) {
    const Parsed parsed = parse(R"({"requestId":"r","tools":[{"toolId":"light","toolPath":"p"},)"
                                R"({"toolId":"b","toolPath":"p","dependencies":["ligth"]}]})");
    ASSERT_EQ(parsed.faults.size(), 1u);
    EXPECT_THAT(parsed.faults[0].message, HasSubstr("did you mean \"light\"?"));
}

TEST(PlanFaults, AToolIsNotSuggestedAsItsOwnDependency) {
    const Parsed parsed = parse(with_tool(R"("dependencies":["b"])"));
    ASSERT_EQ(parsed.faults.size(), 1u);
    EXPECT_EQ(parsed.faults[0].message, "no tool of this plan has the toolId \"b\"");
}

TEST(PlanDocument, AcceptsTimesAbove32Bits) {
    for (const uint64_t time : {uint64_t{UINT32_MAX}, uint64_t{1} << 32, (uint64_t{1} << 53) - 1}) {
        const Parsed parsed =
            parse(with_tool(R"("timeoutMs":)" + std::to_string(time) +
                            R"(,"retryPolicy":{"backoffMs":)" + std::to_string(time) + "}"));
        ASSERT_TRUE(parsed.ok);
        EXPECT_EQ(parsed.plan->tools[0].try_ms, time);
        EXPECT_EQ(parsed.plan->tools[0].backoff_ms, time);
    }
}

TEST(PlanFaults, OutOfRangeNumberNamesTheRange) {
    for (const auto& [members, message] :
         {std::pair(R"("timeoutMs":9007199254740992)",
                    "\"timeoutMs\" must be from 0 (no limit) to 9007199254740991"),
          std::pair(R"("retryPolicy":{"backoffMs":9007199254740992})",
                    "\"backoffMs\" must be from 0 to 9007199254740991"),
          std::pair(R"("retryPolicy":{"maxRetries":4294967297})",
                    "\"maxRetries\" must be from 0 to 10")}) {
        const Parsed parsed = parse(with_tool(members));
        ASSERT_EQ(parsed.faults.size(), 1u);
        EXPECT_EQ(parsed.faults[0].message, message);
    }
}

TEST(PlanFaults, ByteIsTheStartOfTheValue) {
    const std::string text =
        "{\"requestId\": \"r\",\n \"tools\": [ {\"toolId\": \"é\", \"toolPath\": 5,\n"
        "  \"input\": [1]} ]}";
    const Parsed parsed = parse(text);
    ASSERT_EQ(parsed.faults.size(), 2u);
    EXPECT_EQ(parsed.faults[0].byte, text.find('5'));
    EXPECT_EQ(parsed.faults[1].byte, text.find("[1]"));
    EXPECT_EQ(describe_faults(parsed.faults, text),
              "line 2, column 41: /tools/0/toolPath: \"toolPath\" must be a string, not number "
              "[plan-field-type]\n"
              "line 3, column 12: /tools/0/input: \"input\" must be an object [plan-field-type]");
}

TEST(PlanFaults, InvalidJsonHasAPosition) {
    const std::string text = "{\"requestId\": \"r\",\n \"tools\": [}";
    const Parsed parsed = parse(text);
    ASSERT_EQ(parsed.faults.size(), 1u);
    EXPECT_EQ(parsed.faults[0].byte, text.size() - 1);
    EXPECT_EQ(parsed.faults[0].rule, "json-syntax");
    EXPECT_THAT(faults_of("\xEF\xBB\xBF{}"), ElementsAre(" json-no-bom"));
    EXPECT_THAT(faults_of("{\"requestId\":\"\xFF\"}"), ElementsAre(" json-utf8"));
    EXPECT_THAT(faults_of(R"({"requestId":"\udc00"})"), ElementsAre(" json-no-lone-surrogate"));
    EXPECT_THAT(faults_of(std::string(600, '[')), ElementsAre(" json-depth"));
    EXPECT_THAT(faults_of("{}\0{}"s), ElementsAre(" json-one-value"));
}

TEST(PlanFaults, DuplicateToolIdNamesTheFirst) {
    const Parsed parsed =
        parse(R"({"requestId":"r","tools":[{"toolId":"x","toolPath":"p"},)"
              R"({"toolId":"a\"b","toolPath":"p"},{"toolId":"a\"b","toolPath":"p"},)"
              R"({"toolId":"a\"b","toolPath":"p"}]})");
    ASSERT_EQ(parsed.faults.size(), 2u);
    EXPECT_EQ(parsed.faults[0].pointer, "/tools/2/toolId");
    EXPECT_EQ(parsed.faults[0].message, R"(the toolId "a\"b" is already used by /tools/1)");
    EXPECT_EQ(parsed.faults[1].message, R"(the toolId "a\"b" is already used by /tools/1)");
}

// covers: 003-13.4.1-detect-cycles
TEST(PlanFaults, EachCycleIsSpelledOutOnce) {
    const auto tools =
        [](const std::vector<std::pair<std::string, std::vector<std::string>>>& given) {
            std::string text;
            for (const auto& [id, dependencies] : given) {
                std::string list;
                for (const std::string& each : dependencies)
                    list += (list.empty() ? "\"" : ",\"") + each + "\"";
                text += (text.empty() ? "" : ",") + R"({"toolId":")"s + id +
                        R"(","toolPath":"p","dependencies":[)" + list + "]}";
            }
            return R"({"requestId":"r","tools":[)" + text + "]}";
        };
    const auto messages = [&](const auto& given) {
        std::vector<std::string> all;
        for (const Fault& fault : parse(tools(given)).faults) {
            EXPECT_EQ(fault.rule, "plan-cycle");
            all.push_back(fault.message.substr(fault.message.find(": ") + 2));
        }
        return all;
    };
    using Given = std::vector<std::pair<std::string, std::vector<std::string>>>;
    EXPECT_THAT(messages(Given{{"a", {"b"}}, {"b", {"a"}}}), ElementsAre("a → b → a"));
    EXPECT_THAT(messages(Given{{"a", {"a"}}}), ElementsAre("a → a"));
    // Tools that lead into a cycle, or depend on one, are not part of it.
    EXPECT_THAT(
        messages(
            Given{{"in", {"b"}}, {"b", {"c", "free"}}, {"c", {"b"}}, {"free", {}}, {"x", {"in"}}}),
        ElementsAre("b → c → b"));
    EXPECT_THAT(
        messages(Given{{"a", {"b"}}, {"b", {"a"}}, {"c", {"d"}}, {"d", {"e"}}, {"e", {"c"}}}),
        ElementsAre("a → b → a", "c → d → e → c"));
    // Cycles that share tools are listed separately.
    EXPECT_THAT(messages(Given{{"a", {"b"}}, {"b", {"a", "c"}}, {"c", {"b", "a", "c"}}}),
                ElementsAre("a → b → a", "b → c → b", "a → b → c → a", "c → c"));
    EXPECT_THAT(messages(Given{{"a", {"b", "c"}}, {"b", {"a"}}, {"c", {"a"}}}),
                ElementsAre("a → b → a", "a → c → a"));
    // A diamond is not a cycle.
    EXPECT_THAT(messages(Given{{"a", {}}, {"b", {"a"}}, {"c", {"a"}}, {"d", {"b", "c"}}}),
                IsEmpty());
}

TEST(PlanFaults, OverlappingCyclesAreListedUpToAHundred) {
    const auto plan = [](const std::string& prefix, size_t count) {
        return R"({"requestId":"r","tools":)" +
               list_of(count,
                       [&](size_t i) {
                           std::string dependencies;
                           for (size_t j = 0; j < (i % 10 == 0 ? count : 1); ++j) {
                               dependencies +=
                                   (j > 0 ? ",\"" : "\"") + prefix + std::to_string(j) + "\"";
                           }
                           return R"({"toolId":")" + prefix + std::to_string(i) +
                                  R"(","toolPath":"p","dependencies":[)" + dependencies + "]}";
                       }) +
               "}";
    };
    expect_quick([&] {
        const Parsed parsed = parse(plan("", 2000));
        ASSERT_EQ(parsed.faults.size(), 102u);
        EXPECT_THAT(parsed.faults[0].message, EndsWith(": 0 → 0"));
        EXPECT_THAT(parsed.faults[1].message, EndsWith(": 0 → 1 → 0"));
        EXPECT_EQ(parsed.faults[101].message,
                  "there are more cycles, which share tools with the reported ones");
    });
    // With long names, fewer cycles are listed.
    const Parsed parsed = parse(plan(std::string(4000, 'n'), 300));
    EXPECT_LT(parsed.faults.size(), 60u);
    EXPECT_THAT(parsed.faults.back().message, StartsWith("there are more cycles"));
}

TEST(PlanFaults, VeryLongCycleIsAbbreviated) {
    const size_t count = 100000;
    const std::string text = R"({"requestId":"r","tools":)" +
                             list_of(count,
                                     [&](size_t i) {
                                         return R"({"toolId":")" + std::to_string(i) +
                                                R"(","toolPath":"p","dependencies":[")" +
                                                std::to_string((i + 1) % count) + "\"]}";
                                     }) +
                             "}";
    expect_quick([&] {
        const Parsed parsed = parse(text);
        ASSERT_EQ(parsed.faults.size(), 1u);
        EXPECT_THAT(parsed.faults[0].message, HasSubstr("0 → 1 → 2"));
        EXPECT_THAT(parsed.faults[0].message, HasSubstr("→ … → 0"));
        EXPECT_LT(parsed.faults[0].message.size(), 1000u);
    });
}

TEST(PlanFaults, DisabledSkillIsReportedAtItsToolPath) {
    const Parsed parsed = parse(R"({"requestId":"r","disabledSkills":["lever","TORCH"],"tools":[)"
                                R"({"toolId":"a","toolPath":"tools/lever.py"},)"
                                R"({"toolId":"b","toolPath":"tools/torch"},)"
                                R"({"toolId":"c","toolPath":"lever2"}]})");
    ASSERT_EQ(parsed.faults.size(), 1u);
    EXPECT_EQ(parsed.faults[0].pointer, "/tools/0/toolPath");
    EXPECT_EQ(parsed.faults[0].rule, "plan-skill-disabled");
    EXPECT_THAT(parsed.faults[0].message, HasSubstr("\"lever\""));
}

// ---- warnings

std::vector<std::string> warnings_of(std::string_view text) {
    const Parsed parsed = parse(text);
    EXPECT_TRUE(parsed.ok);
    std::vector<std::string> all;
    for (const Fault& warning : parsed.plan->warnings()) {
        EXPECT_TRUE(warning.is_warning);
        EXPECT_EQ(warning.rule, "plan-member-unknown");
        EXPECT_EQ(text[warning.byte], '"');
        all.push_back(warning.pointer + " " + warning.message);
    }
    return all;
}

TEST(PlanWarnings, NameMisspelledMembers) {
    EXPECT_THAT(
        warnings_of(
            R"({"requestId":"r","narative":"","metadata":{"parentPlanID":"p"},"tools":[)"
            R"({"toolId":"a","toolPath":"p"},)"
            R"({"toolId":"b","toolPath":"p","dependancies":["a"],"retryPolicy":{"maxRetry":1,"backoff":2}}]})"),
        UnorderedElementsAre(
            HasSubstr("/narative \"narative\" is not defined and is ignored; did you mean "
                      "\"narrative\"?"),
            HasSubstr("/metadata/parentPlanID "), HasSubstr("/tools/1/retryPolicy/backoff "),
            HasSubstr("/tools/1/dependancies ")));
}

TEST(PlanWarnings, IgnoreUnrelatedMembers) {
    EXPECT_THAT(
        warnings_of(R"({"requestId":"r","x-note":1,"continue":true,"metadata":{"model":"m"},)"
                    R"("tools":[{"toolId":"a","toolPath":"p","comment":"","label":2,)"
                    R"("input":{"dependancies":1},"environment":{"TOOLID":"x"}}]})"),
        IsEmpty());
}

TEST(PlanWarnings, AreBounded) {
    const std::string text = R"({"requestId":"r","tools":)" +
                             list_of(200,
                                     [](size_t i) {
                                         return R"({"toolPath":"p","tool_path":"p","toolId":")" +
                                                std::to_string(i) + "\"}";
                                     }) +
                             "}";
    EXPECT_EQ(parse(text).plan->warnings().size(), plan::Plan::kMaxWarnings);
}

// ---- size

TEST(PlanSize, HundredThousandToolsAreParsedQuickly) {
    const size_t count = 100000;
    std::string text = R"({"requestId":"r","tools":[)";
    for (size_t i = 0; i < count; ++i) {
        text += (i > 0 ? "," : "") + R"({"toolId":"tool-)"s + std::to_string(i) +
                R"(","toolPath":"tools/any","dependencies":[)";
        for (size_t k = 1; k <= 10 && k <= i; ++k) {
            text += (k > 1 ? ",\"tool-" : "\"tool-") + std::to_string(i - k) + "\"";
        }
        text += "]}";
    }
    text += "]}";
    expect_quick([&] {
        const Parsed parsed = parse(text);
        ASSERT_TRUE(parsed.ok);
        EXPECT_EQ(parsed.plan->dependencies.of(count - 1).size(), 10u);
        EXPECT_EQ(parsed.plan->dependents.of(0).size(), 10u);
    });
}

TEST(PlanSize, ManyFaultsInOnePlaceAreListedQuickly) {
    const size_t count = 100000;
    const auto number = [](size_t i) { return std::to_string(i); };
    const auto dependency = [](size_t i) { return "\"no-" + std::to_string(i) + "\""; };
    std::string environment;
    for (size_t i = 0; i < count; ++i)
        environment += (i > 0 ? ",\"V" : "\"V") + std::to_string(i) + "\":1";
    const std::string texts[] = {
        R"({"requestId":"r","tools":[],"disabledSkills":)" + list_of(count, number) + "}",
        R"({"requestId":"r","tools":)" + list_of(count, number) + "}",
        with_tool(R"("dependencies":)" + list_of(count, dependency)),
        with_tool(R"("dependencies":)" + list_of(count, number)),
        with_tool(R"("environment":{)" + environment + "}"),
    };
    for (const std::string& text : texts) {
        expect_quick([&] {
            const Parsed parsed = parse(text);
            ASSERT_EQ(parsed.faults.size(), count) << text.substr(0, 120);
            EXPECT_THAT(parsed.faults.back().pointer, HasSubstr("99999"));
        });
    }
}

TEST(PlanSize, ManyDisabledSkillsAreCheckedQuickly) {
    const size_t count = 100000;
    const std::string text =
        R"({"requestId":"r","disabledSkills":)" +
        list_of(count, [](size_t i) { return "\"skill-" + std::to_string(i) + "\""; }) +
        R"(,"tools":)" +
        list_of(count,
                [](size_t i) {
                    return R"({"toolId":")" + std::to_string(i) + R"(","toolPath":"tools/)" +
                           (i % 2 == 0 ? "other-" : "skill-") + std::to_string(i) + "\"}";
                }) +
        "}";
    expect_quick([&] {
        const Parsed parsed = parse(text);
        EXPECT_EQ(parsed.faults.size(), count / 2);
    });
}

TEST(PlanSize, ManyCyclesAreFoundQuickly) {
    const size_t count = 100000;
    const std::string text = R"({"requestId":"r","tools":)" +
                             list_of(count,
                                     [](size_t i) {
                                         return R"({"toolId":")" + std::to_string(i) +
                                                R"(","toolPath":"p","dependencies":[")" +
                                                std::to_string(i ^ 1) + "\"]}";
                                     }) +
                             "}";
    expect_quick([&] { EXPECT_EQ(parse(text).faults.size(), count / 2); });
}

}  // namespace
