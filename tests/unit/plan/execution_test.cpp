// SPDX-License-Identifier: Apache-2.0
#include "plan/execution.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <random>

#include "conformance/json.hpp"
#include "fake_runner.hpp"
#include "narratoria/record.h"
#include "plan/request.hpp"
#include "support/sized.hpp"
#include "text_output.hpp"

namespace narratoria::plan {
namespace {

using namespace std::string_literals;
using test::Json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

const std::string kDone = R"({"version":"0","type":"done","ok":true})";

std::string patch(std::string_view object) {
    return R"({"version":"0","type":"state_patch","patch":)" + std::string(object) + "}";
}
std::string log(std::string_view message) {
    return R"({"version":"0","type":"log","level":"info","message":")" + std::string(message) +
           "\"}";
}

// Runs one execution at a time on a loop that turns only when the test calls turn().
class ExecutionTest : public ::testing::Test {
protected:
    struct Record {
        event::Kind kind;
        std::string tool;
        uint32_t attempt;
        uint64_t seq;
        std::string body;
    };

    ExecutionTest() {
        auto sink = test::sized<nar_event_sink>();
        sink.user = this;
        sink.event = [](void* user, const nar_event* event) {
            auto& self = *static_cast<ExecutionTest*>(user);
            self.records.push_back({static_cast<event::Kind>(event->kind), text(event->tool_id),
                                    event->attempt, event->seq, text(event->body)});
            if (self.on_record) self.on_record(self.records.back());
        };
        stream.attach(sink);
        // The fixture owns the runner, so that tests can inspect it.
        runners.add(tool::kProcessRunner, {std::shared_ptr<void>(), &runner});
    }

    ExecutionContext context() {
        return {loop,  slots,  waiting_slots, resolver, stream,
                state, assets, environment,   limits,   sandbox};
    }

    static std::string text(nar_str view) { return {view.data, static_cast<size_t>(view.size)}; }

    // "a", members: {"toolId":"a","toolPath":"/a",members}
    static std::string tool(std::string_view id, std::string_view members = {}) {
        return R"({"toolId":")" + std::string(id) + R"(","toolPath":"/)" + std::string(id) + "\"" +
               (members.empty() ? "" : "," + std::string(members)) + "}";
    }
    static std::string plan(const std::vector<std::string>& tools, std::string_view members = {}) {
        std::string all;
        for (const std::string& each : tools) all += (all.empty() ? "" : ",") + each;
        return R"({"requestId":"plan-1","tools":[)" + all + "]" +
               (members.empty() ? "" : "," + std::string(members)) + "}";
    }
    static constexpr const char* kParallel = R"("parallel":true)";
    static constexpr const char* kAsync = R"("async":true)";
    static constexpr const char* kOnce = R"("retryPolicy":{"maxRetries":0})";

    static Settings try_time(uint32_t milliseconds) {
        Settings settings;
        settings.try_ms = milliseconds;
        return settings;
    }
    static Settings plan_time(uint32_t milliseconds) {
        Settings settings;
        settings.plan_ms = milliseconds;
        return settings;
    }

    void begin(const std::string& document, Settings settings = {}) {
        auto parsed = std::make_unique<Plan>();
        Faults faults;
        ASSERT_TRUE(parsed->parse(document, faults)) << describe_faults(faults, document);
        result.reset();
        execution = std::make_unique<Execution>(context(), std::move(parsed), std::move(settings),
                                                [this](std::shared_ptr<Result> ended) {
                                                    EXPECT_FALSE(result) << "it must end only once";
                                                    result = std::move(ended);
                                                });
        execution->start();
        turn();
    }
    // Runs what is due now.
    void turn() {
        for (int i = 0; i < 12; ++i) loop.run_for(0);
    }
    // Turns the loop until `condition` holds; the deadline is generous for a loaded machine.
    template <typename Condition>
    void wait_until(Condition condition) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(300);
        while (!condition()) {
            ASSERT_LT(std::chrono::steady_clock::now(), deadline);
            loop.run_once();
        }
    }
    void end(std::string_view name, tool::Outcome outcome = succeeded()) {
        runner.end(name, std::move(outcome));
        turn();
    }
    // Every tool succeeds as soon as it has started.
    void everything_succeeds() {
        runner.on_start = [this](const std::string& name) {
            loop.defer([this, name] { runner.end(name); });
        };
    }

    ToolResult of(std::string_view id) const {
        for (const ToolResult& each : tools()) {
            if (each.tool_id == id) return each;
        }
        throw std::out_of_range(std::string(id));
    }
    // The tools of a plan, or those of an open execution.
    std::vector<ToolResult> tools() const {
        std::vector<ToolResult> all = result->tools;
        EndedTools::Reader reader(result->ended);
        ToolResult tool(nullptr);
        for (uint32_t before = 0; reader.next(tool, before);) all.push_back(tool);
        return all;
    }
    Json document() const {
        TextOutput output;
        EXPECT_TRUE(result->write(output, true));
        return Json(output.text);
    }
    std::vector<std::string> kinds() const {
        std::vector<std::string> all;
        for (const Record& record : records) {
            all.push_back(nar_record_kind(static_cast<uint32_t>(record.kind)) +
                          (record.tool.empty() ? "" : " " + record.tool));
        }
        return all;
    }
    std::vector<Record> of_kind(event::Kind kind) const {
        std::vector<Record> all;
        for (const Record& record : records) {
            if (record.kind == kind) all.push_back(record);
        }
        return all;
    }

    Loop loop;
    JobSlots slots{4};
    JobSlots waiting_slots{2};
    FakeRunner runner;
    tool::Registry registry;
    tool::Runners runners;
    tool::Resolver resolver{registry, runners, ""};
    tool::Limits limits;
    tool::SandboxRules sandbox;
    uint32_t depth = 0;
    event::Stream stream{"session-1", depth};
    state::Store state{1000, {.patch_bytes = 1000}};
    asset::Registry assets{"/"};
    std::vector<std::string> environment{"PATH=/bin", "TORCH=unlit"};
    // ---- open executions

    void open(Settings settings = {}) {
        settings.is_open = true;
        if (!settings.on_tool_settled) {
            settings.on_tool_settled = [this](uint32_t position, const ToolResult& tool) {
                settled.push_back(std::to_string(position) + " " + state_name(tool.state) +
                                  (tool.ok() ? "" : " " + tool.error_code));
            };
        }
        begin(plan({}, kParallel), std::move(settings));
    }
    // Appends a tool with the path "/name".
    uint32_t append(std::string_view name, std::string_view members = kOnce, uint32_t line = 0,
                    std::optional<ToolRefusal> refusal = {}, std::string_view id = {}) {
        ToolInvocation invocation;
        std::string why;
        EXPECT_TRUE(parse(R"({"tool":"/)" + std::string(name) + "\"" +
                              (members.empty() ? "" : "," + std::string(members)) + "}",
                          invocation, why))
            << why;
        invocation.tool_id = id.empty() ? name : id;
        invocation.line = line;
        return execution->append(std::move(invocation), std::move(refusal));
    }

    // Runs a registered tool that succeeds within its start.
    uint32_t run_early(const std::string& name, bool is_synchronous = false) {
        runner.ends_early = true;
        ToolInvocation invocation;
        invocation.tool_id = invocation.tool_path = name;
        if (registry.find(name) == nullptr) {
            auto definition = std::make_shared<tool::Definition>();
            definition->name = name;
            definition->runner = tool::kProcessRunner;
            definition->origin.kind = tool::Origin::Kind::Host;
            definition->is_synchronous = is_synchronous;
            registry.add(std::move(definition));
        }
        invocation.checked_by = registry.find(name);
        return execution->run(std::move(invocation));
    }

    std::vector<std::string> settled;
    std::shared_ptr<Result> result;
    std::vector<Record> records;
    std::function<void(const Record&)> on_record;
    std::unique_ptr<Execution> execution;
};

// ---- order

TEST_F(ExecutionTest, DefinitionLimitsOverrideTheSessionsLimits) {
    limits.cpu_seconds = 9;
    limits.line_bytes = 1000;
    auto own = std::make_shared<tool::Definition>();
    own->name = "own";
    own->runner = tool::kProcessRunner;
    own->limits.cpu_seconds = 3;
    own->limits.file_bytes = 0;  // no limit given
    own->limits.processes = 7;
    registry.add(own);
    everything_succeeds();
    begin(plan({tool("a"), R"({"toolId":"b","toolPath":"own"})"}));
    ASSERT_EQ(runner.starts.size(), 2u);
    const tool::Limits& plain = runner.starts[0].limits;
    EXPECT_EQ(plain.cpu_seconds, 9u);
    EXPECT_EQ(plain.processes, UINT64_MAX);
    const tool::Limits& overridden = runner.starts[1].limits;
    EXPECT_EQ(overridden.cpu_seconds, 3u);
    EXPECT_EQ(overridden.file_bytes, UINT64_MAX);
    EXPECT_EQ(overridden.processes, 7u);
    EXPECT_EQ(overridden.line_bytes, 1000u);
}

TEST_F(ExecutionTest, KeepsTheDefinitionOfARunningAttempt) {
    auto definition = std::make_shared<tool::Definition>();
    definition->name = "a";
    definition->runner = tool::kProcessRunner;
    const std::weak_ptr<const tool::Definition> watched = definition;
    registry.add(std::move(definition));
    begin(plan({R"({"toolId":"x","toolPath":"a"})"}));
    registry.remove(*registry.find("a"));
    EXPECT_FALSE(watched.expired());
    runner.end("a");
    turn();
    ASSERT_TRUE(result);
    EXPECT_TRUE(watched.expired());
}

TEST_F(ExecutionTest, WaitingToolsUseTheirOwnSlots) {
    slots = JobSlots(1);
    waiting_slots = JobSlots(2);
    for (const char* name : {"w1", "w2", "w3"}) {
        auto definition = std::make_shared<tool::Definition>();
        definition->name = name;
        definition->runner = tool::kProcessRunner;
        definition->waits = true;
        registry.add(std::move(definition));
    }
    begin(plan({tool("a", kAsync), R"({"toolId":"w1","toolPath":"w1","async":true})",
                R"({"toolId":"w2","toolPath":"w2","async":true})",
                R"({"toolId":"w3","toolPath":"w3","async":true})"},
               kParallel));
    EXPECT_THAT(runner.running(), ElementsAre("a", "w1", "w2"));
    end("w1");
    EXPECT_THAT(runner.running(), ElementsAre("a", "w2", "w3"));
    for (const char* name : {"a", "w2", "w3"}) end(name);
    EXPECT_TRUE(result->success);
    EXPECT_EQ(slots.used(), 0u);
    EXPECT_EQ(waiting_slots.used(), 0u);
}

TEST_F(ExecutionTest, NothingStartsWithinStart) {
    auto parsed = std::make_unique<Plan>();
    Faults faults;
    ASSERT_TRUE(parsed->parse(plan({tool("a")}), faults));
    Execution one(context(), std::move(parsed), {}, [](const std::shared_ptr<Result>&) {});
    one.start();
    EXPECT_THAT(runner.starts, IsEmpty());
    turn();
    EXPECT_THAT(runner.started(), ElementsAre("a"));
}

TEST_F(ExecutionTest, PlanWithoutToolsEndsFromTheLoop) {
    begin(plan({}, R"("narrative":"Silence.")"));
    ASSERT_TRUE(result);
    EXPECT_TRUE(result->success);
    EXPECT_THAT(kinds(), ElementsAre("plan_started", "narrative", "plan_ended"));
}

TEST_F(ExecutionTest, SequentialToolsRunOneByOneInPlanOrder) {
    begin(plan({tool("c", R"("dependencies":["a"])"), tool("a"), tool("b", kAsync)}));
    EXPECT_THAT(runner.running(), ElementsAre("a"));
    end("a");
    EXPECT_THAT(runner.running(), ElementsAre("c")) << "c became ready and precedes b in the plan";
    end("c");
    EXPECT_THAT(runner.running(), ElementsAre("b")) << "async matters only in a parallel plan";
    end("b");
    ASSERT_TRUE(result);
    EXPECT_TRUE(result->success);
    EXPECT_THAT(kinds(),
                ElementsAre("plan_started", "tool_pending c", "tool_pending a", "tool_pending b",
                            "tool_started a", "attempt_started a", "attempt_ended a",
                            "tool_ended a", "tool_started c", "attempt_started c",
                            "attempt_ended c", "tool_ended c", "tool_started b",
                            "attempt_started b", "attempt_ended b", "tool_ended b", "plan_ended"));
    for (size_t i = 0; i < records.size(); ++i) EXPECT_EQ(records[i].seq, i + 1);
}

TEST_F(ExecutionTest, BackoffFreesTheSlot) {
    slots = JobSlots(1);
    begin(plan({tool("a", R"("async":true,"retryPolicy":{"maxRetries":1,"backoffMs":20})"),
                tool("b", kAsync)},
               kParallel));
    EXPECT_THAT(runner.running(), ElementsAre("a"));
    end("a", failed());
    EXPECT_THAT(runner.running(), ElementsAre("b"));
    // The backoff ends while no slot is free, so the retry waits for one.
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(60);
    while (std::chrono::steady_clock::now() < deadline) loop.run_for(1000);
    EXPECT_THAT(runner.running(), ElementsAre("b"));
    end("b");
    EXPECT_THAT(runner.running(), ElementsAre("a"));
    end("a");
    EXPECT_TRUE(result->success);
}

// covers: 003-13.4.2-order, 003-13.4.2-wait, 003-13.4.4-sequential
TEST_F(ExecutionTest, AnyGraphFollowsTheRules) {
    std::mt19937 numbers(20261121);
    const auto random = [&] { return static_cast<uint32_t>(numbers()); };
    for (int round = 0; round < 150; ++round) {
        const uint32_t count = 1 + random() % 24;
        const bool parallel = random() % 3 != 0;
        const uint32_t jobs = 1 + random() % 5;
        slots = JobSlots(jobs);
        runner.starts.clear();
        runner.most_at_once = 0;

        // Dependencies follow a hidden order, so there is no cycle.
        std::vector<uint32_t> order(count);
        for (uint32_t i = 0; i < count; ++i) order[i] = i;
        std::shuffle(order.begin(), order.end(), numbers);
        std::vector<std::vector<uint32_t>> dependencies(count);
        std::vector<bool> async(count), required(count), fails(count);
        std::vector<std::string> tools(count);
        for (uint32_t place = 0; place < count; ++place) {
            const uint32_t i = order[place];
            for (uint32_t before = 0; before < place; ++before) {
                if (random() % 6 == 0) dependencies[i].push_back(order[before]);
            }
            async[i] = random() % 4 != 0;
            required[i] = random() % 2 == 0;
            fails[i] = random() % 5 == 0;
        }
        for (uint32_t i = 0; i < count; ++i) {
            std::string list;
            for (const uint32_t each : dependencies[i]) {
                list += (list.empty() ? "\"" : ",\"") + std::to_string(each) + "\"";
            }
            tools[i] =
                tool(std::to_string(i), R"("dependencies":[)" + list + R"(],"async":)" +
                                            (async[i] ? "true" : "false") + R"(,"required":)" +
                                            (required[i] ? "true" : "false") + "," + kOnce);
        }

        // An independent, simpler statement of the rules.
        std::vector<State> states(count, State::Skipped);
        for (const uint32_t i : order) {
            const bool lacks =
                std::any_of(dependencies[i].begin(), dependencies[i].end(), [&](uint32_t each) {
                    return states[each] == State::Skipped ||
                           (states[each] == State::Failed && required[each]);
                });
            if (!lacks) states[i] = fails[i] ? State::Failed : State::Completed;
        }

        std::vector<bool> over(count, false);
        begin(plan(tools, parallel ? kParallel : R"("parallel":false)"));
        while (!result) {
            const std::vector<std::string> running = runner.running();
            ASSERT_FALSE(running.empty()) << "the execution is stuck";
            for (const std::string& name : running) {
                const auto i = static_cast<uint32_t>(std::stoul(name));
                for (const uint32_t each : dependencies[i]) ASSERT_TRUE(over[each]) << name;
                ASSERT_TRUE((parallel && async[i]) || running.size() == 1)
                    << name << " must run alone";
            }
            const std::string name = running[random() % running.size()];
            over[std::stoul(name)] = true;
            end(name, fails[std::stoul(name)] ? failed() : succeeded());
        }
        bool success = true;
        for (uint32_t i = 0; i < count; ++i) {
            ASSERT_EQ(result->tools[i].state, states[i]) << "round " << round << ", tool " << i;
            if (states[i] == State::Failed && required[i]) success = false;
        }
        EXPECT_EQ(result->success, success);
        EXPECT_LE(runner.most_at_once, jobs);
        EXPECT_EQ(slots.used(), 0u);

        if (parallel) continue;
        // In a sequential plan, each step starts the first ready tool in the plan's order.
        std::vector<bool> has_settled(count, false);
        for (const std::string& name : runner.started()) {
            for (uint32_t i = 0; i < count; ++i) {
                if (states[i] == State::Skipped || has_settled[i]) continue;
                const bool ready = std::all_of(dependencies[i].begin(), dependencies[i].end(),
                                               [&](uint32_t each) { return has_settled[each]; });
                if (!ready) continue;
                ASSERT_EQ(name, std::to_string(i)) << "round " << round;
                has_settled[i] = true;
                break;
            }
        }
    }
}

TEST_F(ExecutionTest, VeryLongChainDoesNotRecurse) {
    const size_t count = 30000;
    std::vector<std::string> tools;
    for (size_t i = 0; i < count; ++i) {
        tools.push_back(tool(
            std::to_string(i),
            i == 0 ? std::string(kOnce) : R"("dependencies":[")" + std::to_string(i - 1) + "\"]"));
    }
    records.clear();
    runner.on_start = [this](const std::string& name) {
        loop.defer([this, name] { runner.end(name, failed()); });
    };
    begin(plan(tools));
    wait_until([&] { return result != nullptr; });
    EXPECT_EQ(result->tools.back().state, State::Skipped);
    EXPECT_EQ(of("1").error_code, "DEPENDENCY_FAILED");
    EXPECT_EQ(of("29999").error_code, "DEPENDENCY_SKIPPED");
    EXPECT_THAT(of("29999").error, HasSubstr("\"29998\""));
    EXPECT_THAT(result->failed_tools, ElementsAre("0"));
}

TEST_F(ExecutionTest, ManyFailedStartsDoNotRecurse) {
    std::vector<std::string> tools;
    for (size_t i = 0; i < 20000; ++i) {
        tools.push_back(
            tool("t" + std::to_string(i), R"("required":false,"async":true,)"s + kOnce));
        runner.refusals["t" + std::to_string(i)] = "no such file";
    }
    begin(plan(tools, kParallel));
    wait_until([&] { return result != nullptr; });
    EXPECT_EQ(result->failed_tools.size(), tools.size());
    EXPECT_EQ(result->disabled_skills.size(), tools.size());
    EXPECT_TRUE(result->success);
    EXPECT_EQ(slots.used(), 0u);
}

// ---- retries

TEST_F(ExecutionTest, PermanentFailureIsNotRetried) {
    tool::Outcome final = failed("TOOL_FAILED", "spent");
    final.may_retry = false;
    for (const tool::Outcome& outcome :
         {failed("INPUT_INVALID"), failed("GUARANTEE_UNAVAILABLE"), final}) {
        begin(plan({tool("a", R"("retryPolicy":{"maxRetries":3,"backoffMs":0})")}));
        end("a", outcome);
        ASSERT_TRUE(result) << outcome.code;
        EXPECT_EQ(of("a").retry_count(), 0u);
        EXPECT_EQ(of("a").error_code, outcome.code);
    }
}

TEST_F(ExecutionTest, MisspelledMemberIsAWarning) {
    everything_succeeds();
    begin(plan({tool("a", R"("dependancies":["b"],"note":1)"), tool("b")}));
    ASSERT_TRUE(result);
    EXPECT_TRUE(result->success);
    const auto warnings = of_kind(event::Kind::Warning);
    ASSERT_EQ(warnings.size(), 1u);
    const Json body(warnings[0].body);
    EXPECT_EQ(body["code"].string(), "UNKNOWN_MEMBER");
    EXPECT_EQ(body["message"].string(),
              "/tools/0/dependancies: \"dependancies\" is not defined and is ignored; did you mean "
              "\"dependencies\"?");
}

TEST_F(ExecutionTest, EachKindOfFailureIsRetried) {
    for (const char* code :
         {"TOOL_FAILED", "EXIT_STATUS", "SIGNALED", "PROTOCOL_ERROR", "MISSING_DONE", "CPU_LIMIT",
          "FILE_SIZE_LIMIT", "PROCESS_LIMIT", "MEMORY_LIMIT", "SUPERVISOR_LOST"}) {
        runner.starts.clear();
        begin(plan({tool("a", R"("retryPolicy":{"maxRetries":1,"backoffMs":0})")}));
        end("a", failed(code));
        wait_until([&] { return runner.starts.size() == 2; });
        end("a", failed(code));
        ASSERT_TRUE(result) << code;
        EXPECT_EQ(of("a").error_code, code);
        EXPECT_EQ(of("a").retry_count(), 1u);
    }
}

TEST_F(ExecutionTest, FailedStartIsAFailedAttempt) {
    runner.refusals["a"] = "/a: no such file";
    begin(plan({tool("a", R"("retryPolicy":{"maxRetries":1,"backoffMs":0})")}));
    wait_until([&] { return result != nullptr; });
    EXPECT_EQ(of("a").error_code, "SPAWN_FAILED");
    EXPECT_EQ(of("a").error, "/a: no such file");
    EXPECT_EQ(of("a").attempts.size(), 2u);
    EXPECT_EQ(of("a").attempts[0].exit_status, -1);
}

TEST_F(ExecutionTest, FileThatAppearsBetweenAttemptsIsStarted) {
    runner.refusals["a"] = "not there yet";
    begin(plan({tool("a", R"("retryPolicy":{"maxRetries":2,"backoffMs":30})")}));
    EXPECT_EQ(of_kind(event::Kind::AttemptEnded).size(), 1u);
    runner.refusals.clear();
    wait_until([&] { return !runner.running().empty(); });
    end("a");
    EXPECT_TRUE(result->success);
}

TEST_F(ExecutionTest, OutputAndResultComeFromTheLastAttempt) {
    begin(plan({tool("a", R"("retryPolicy":{"maxRetries":1,"backoffMs":0})"),
                tool("b", R"("dependencies":["a"])")}));
    runner.say("a", patch(R"({"first":1,"both":{"x":1}})"));
    tool::Outcome first = failed();
    first.result = "\"first\"";
    first.diagnostics = "oh no";
    end("a", std::move(first));
    wait_until([&] { return runner.starts.size() == 2; });
    runner.say("a", patch(R"({"both":{"y":2,"z":null}})"));
    tool::Outcome second = succeeded();
    second.result = R"({"answer":42})";
    end("a", std::move(second));
    end("b");
    const Json a = document()["toolResults"][0];
    EXPECT_EQ(a["output"], Json(R"({"both":{"y":2}})"));
    EXPECT_EQ(a["result"], Json(R"({"answer":42})"));
    EXPECT_FALSE(a.has("stderr")) << "the last attempt wrote nothing to stderr";
    EXPECT_FALSE(a.has("error"));
    EXPECT_EQ(a["events"].size(), 2u);
    std::string all;
    state.tree().append_json(all);
    EXPECT_EQ(Json(all), Json(R"({"first":1,"both":{"x":1,"y":2}})"));
}

// ---- failures

TEST_F(ExecutionTest, DependantsOfRequiredFailureAreSkippedWithItsName) {
    begin(plan({tool("top", R"("dependencies":["left","right"])"),
                tool("left", R"("dependencies":["bad"])"),
                tool("right", R"("dependencies":["good"])"), tool("bad", kOnce), tool("good")}));
    end("bad", failed());
    EXPECT_EQ(of_kind(event::Kind::ToolEnded).size(), 3u) << "reported at once";
    end("good");
    end("right");
    ASSERT_TRUE(result);
    EXPECT_FALSE(result->success);
    EXPECT_EQ(of("left").error_code, "DEPENDENCY_FAILED");
    EXPECT_EQ(of("left").error, R"(the tool "bad", on which it depends, failed)");
    EXPECT_EQ(of("top").error_code, "DEPENDENCY_SKIPPED");
    EXPECT_EQ(of("top").error, R"(the tool "left", on which it depends, was skipped)");
    EXPECT_EQ(of("right").state, State::Completed);
    EXPECT_THAT(result->failed_tools, ElementsAre("bad"));
    EXPECT_THAT(result->disabled_skills, ElementsAre("bad"));
    EXPECT_TRUE(result->can_replan);
}

TEST_F(ExecutionTest, DependantsOfAnOptionalFailureGetNull) {
    begin(plan({tool("a", R"("required":false,"retryPolicy":{"maxRetries":0})"), tool("b"),
                tool("c", R"("dependencies":["b","a"],"input":{"operation":"look","x":[1, 2]})")}));
    runner.say("a", patch(R"({"half":1})"));
    end("a", failed());
    runner.say("b", patch(R"({"whole":{"\"":1}})"));
    tool::Outcome outcome = succeeded();
    outcome.result = "[ 1 ]";
    end("b", std::move(outcome));
    const std::string request = runner.starts.back().request;
    EXPECT_EQ(request.back(), '\n');
    EXPECT_EQ(std::count(request.begin(), request.end(), '\n'), 1) << "one line";
    EXPECT_EQ(Json(request), Json(R"({"requestId":"plan-1","tool":"c","operation":"look",)"
                                  R"("input":{"operation":"look","x":[1,2]},"seed":)" +
                                  std::to_string(seed_of(0, "c", 1)) +
                                  R"(,"dependencies":{"b":{"whole":{"\"":1}},"a":null},)"
                                  R"("results":{"b":[1]}})"));
    end("c");
    EXPECT_TRUE(result->success);
    EXPECT_THAT(result->failed_tools, ElementsAre("a"));
    EXPECT_THAT(result->disabled_skills, ElementsAre("a"));
    EXPECT_FALSE(result->can_replan);
}

TEST_F(ExecutionTest, OperationDefaultsToRun) {
    const struct {
        const char* members;
        const char* operation;
    } cases[] = {{R"("input":{})", "run"},
                 {R"("input":{"operation":5})", "run"},
                 {R"("input":{"operation":null})", "run"},
                 {R"("input":{"operation":"a","operation":"examine"})", "examine"},
                 {R"("async":false)", "run"}};
    for (const auto& each : cases) {
        begin(plan({tool("a", each.members)}));
        EXPECT_EQ(Json(runner.starts.back().request)["operation"].string(), each.operation)
            << each.members;
        end("a");
    }
}

TEST_F(ExecutionTest, MultiLineInputIsSentAsOneLine) {
    begin(plan(
        {tool("a", "\"input\": {\n  \"text\": \"two\\nlines  with  blanks\",\n\t\"n\": 1.50\n}")}));
    EXPECT_THAT(runner.starts.back().request,
                HasSubstr(R"("input":{"text":"two\nlines  with  blanks","n":1.50})"));
    end("a");
}

TEST_F(ExecutionTest, ToolEnvironmentTakesPrecedence) {
    begin(plan({tool("a", R"("environment":{"TORCH":"lit","NEW":"","TORC":"x"})"), tool("b")}));
    EXPECT_THAT(runner.starts[0].environment,
                UnorderedElementsAre("PATH=/bin", "TORCH=lit", "NEW=", "TORC=x"));
    end("a");
    EXPECT_THAT(runner.starts[1].environment, ElementsAre("PATH=/bin", "TORCH=unlit"));
    end("b");
}

TEST_F(ExecutionTest, UnknownSchemeIsAFailedAttempt) {
    begin(
        R"({"requestId":"r","tools":[{"toolId":"a","toolPath":"http:x","retryPolicy":{"maxRetries":0}}]})");
    ASSERT_TRUE(result);
    EXPECT_EQ(of("a").error_code, "SPAWN_FAILED");
    EXPECT_THAT(of("a").error, HasSubstr("http"));
}

// ---- timeouts

TEST_F(ExecutionTest, PatchAboveTheLimitEndsTheAttemptUnmerged) {
    begin(plan({tool("a", R"("retryPolicy":{"maxRetries":3,"backoffMs":0})")}));
    runner.say("a", patch(R"({"before":1})"));
    runner.say("a", patch(R"({"large":")" + std::string(1000, 'x') + R"("})"));
    turn();
    EXPECT_THAT(runner.terminated, ElementsAre("a"));
    runner.end("a");
    turn();
    ASSERT_TRUE(result) << "it is not retried";
    EXPECT_EQ(of("a").attempts.size(), 1u);
    EXPECT_FALSE(result->success);
    EXPECT_EQ(of("a").state, State::Failed);
    EXPECT_EQ(of("a").error_code, "PATCH_TOO_LARGE");
    EXPECT_THAT(of("a").error, HasSubstr("the limit patch_bytes is 1000"));
    std::string text;
    state.tree().append_json(text);
    EXPECT_EQ(text, R"({"before":1})");
    const std::vector<Record> warnings = of_kind(event::Kind::Warning);
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_EQ(warnings[0].tool, "a");
    EXPECT_THAT(warnings[0].body, HasSubstr(R"("code":"PATCH_TOO_LARGE")"));
}

TEST_F(ExecutionTest, TimedOutAttemptIsEndedAndRetried) {
    begin(plan({tool("a", R"("retryPolicy":{"maxRetries":1,"backoffMs":0})")}), try_time(15));
    wait_until([&] { return runner.terminated.size() == 1; });
    EXPECT_FALSE(result) << "the attempt ends only when the tool has ended";
    // The tool reports success, but too late.
    runner.say("a", kDone);
    end("a", succeeded());
    wait_until([&] { return runner.starts.size() == 2; });
    wait_until([&] { return runner.terminated.size() == 2; });
    tool::Outcome killed = failed("SIGNALED");
    killed.exit_status = -1;
    killed.signal = 15;
    killed.limit = "it had no more processes";
    end("a", std::move(killed));
    ASSERT_TRUE(result);
    EXPECT_EQ(of("a").state, State::Timeout);
    EXPECT_EQ(of("a").error_code, "TIMEOUT");
    EXPECT_EQ(of("a").attempts[0].error, "the tool did not end within 15 ms");
    EXPECT_EQ(of("a").error, "the tool did not end within 15 ms; it had no more processes");
    EXPECT_EQ(of("a").attempts[0].state, State::Timeout);
    EXPECT_EQ(of("a").attempts[1].signal, 15);
    EXPECT_THAT(result->failed_tools, ElementsAre("a"));
    EXPECT_THAT(result->disabled_skills, ElementsAre("a"));
}

TEST_F(ExecutionTest, ToolTimeoutOverridesDefaultAndZeroMeansNone) {
    begin(plan({tool("a", R"("timeoutMs":5000)")}), try_time(60000));
    EXPECT_LE(loop.timeout(), 5000);
    EXPECT_GT(loop.timeout(), 4000);
    end("a");
    begin(plan({tool("a", R"("timeoutMs":0)")}), try_time(60000));
    EXPECT_EQ(loop.timeout(), -1) << "no timer runs";
    end("a");
    begin(plan({tool("a")}));
    EXPECT_EQ(loop.timeout(), -1);
    end("a");
    begin(plan({tool("a", R"("timeoutMs":9007199254740991)")}), try_time(1));
    EXPECT_GT(loop.timeout(), 1000000);
    end("a");
}

TEST_F(ExecutionTest, DoneStopsTheAttemptTimeout) {
    begin(plan({tool("a")}), try_time(10000));
    EXPECT_GT(loop.timeout(), 0);
    runner.say("a", kDone);
    turn();
    EXPECT_EQ(loop.timeout(), -1) << "the runner limits lingering";
    end("a");
    EXPECT_TRUE(result->success);
}

TEST_F(ExecutionTest, PlanTimeoutKeepsTheDoneOfALingeringTool) {
    begin(plan({tool("a", kAsync), tool("b", kAsync), tool("c", kAsync)}, kParallel),
          plan_time(30));
    runner.say("a", kDone);
    end("b");
    runner.say("c", kDone);
    runner.outcome_of_done.result = "[1]";
    wait_until([&] { return result != nullptr; });
    EXPECT_TRUE(result->success);
    EXPECT_FALSE(result->timed_out);
    EXPECT_EQ(of("a").state, State::Completed);
    EXPECT_EQ(of("a").result, "[1]");
    EXPECT_EQ(of("a").attempts.at(0).state, State::Completed);
    EXPECT_EQ(of("a").attempts.at(0).event_count, 1u);
    EXPECT_THAT(result->failed_tools, IsEmpty());
    EXPECT_THAT(runner.abandoned, ElementsAre("a", "c"));
    const auto warnings = of_kind(event::Kind::Warning);
    ASSERT_EQ(warnings.size(), 2u);
    EXPECT_THAT(warnings[0].body, HasSubstr("LINGERED"));
    EXPECT_THAT(warnings[0].body, HasSubstr("the plan did not end within 30 ms"));
    EXPECT_EQ(slots.used(), 0u);
}

TEST_F(ExecutionTest, PlanTimeoutKeepsAnUnsuccessfulDone) {
    begin(plan({tool("a", kAsync), tool("b", R"("async":true,"dependencies":["a"])")}, kParallel),
          plan_time(30));
    runner.outcome_of_done = failed("TOOL_FAILED", "wet");
    runner.say("a", R"({"version":"0","type":"done","ok":false})");
    wait_until([&] { return result != nullptr; });
    EXPECT_EQ(of("a").state, State::Failed);
    EXPECT_EQ(of("a").error, "wet");
    EXPECT_EQ(of("b").state, State::Skipped);
    EXPECT_TRUE(result->timed_out);
}

TEST_F(ExecutionTest, CancelFailsALingeringTool) {
    begin(plan({tool("a")}));
    runner.say("a", kDone);
    execution->stop(Stop::Cancelled);
    ASSERT_TRUE(result);
    EXPECT_EQ(of("a").state, State::Failed);
    EXPECT_EQ(of("a").error_code, "CANCELLED");
}

TEST_F(ExecutionTest, PlanTimeoutEndsRunningToolsAndSkipsTheRest) {
    begin(plan({tool("a", kAsync), tool("b", R"("async":true,"retryPolicy":{"backoffMs":10000})"),
                tool("c", R"("dependencies":["a"],"async":true)"), tool("d", kAsync)},
               kParallel),
          plan_time(30));
    runner.say("a", patch(R"({"begun":1})"));
    end("b", failed());
    end("d");
    wait_until([&] { return result != nullptr; });
    EXPECT_FALSE(result->success);
    EXPECT_TRUE(result->timed_out);
    EXPECT_FALSE(result->cancelled);
    EXPECT_TRUE(result->can_replan);
    EXPECT_EQ(of("a").state, State::Timeout);
    EXPECT_EQ(of("a").error_code, "PLAN_TIMEOUT");
    EXPECT_EQ(of("a").output, R"({"begun":1})");
    EXPECT_EQ(of("a").attempts.size(), 1u);
    EXPECT_EQ(of("b").state, State::Timeout) << "a tool between two attempts counts as running";
    EXPECT_EQ(of("b").retry_count(), 0u);
    EXPECT_EQ(of("c").state, State::Skipped);
    EXPECT_EQ(of("c").error_code, "PLAN_TIMEOUT");
    EXPECT_EQ(of("d").state, State::Completed);
    EXPECT_THAT(result->failed_tools, ElementsAre("a", "b"));
    EXPECT_THAT(runner.abandoned, ElementsAre("a"));
    EXPECT_EQ(slots.used(), 0u);
    turn();
    EXPECT_EQ(runner.starts.size(), 3u) << "nothing starts after the end";
}

// ---- cancelling

// covers: 003-13.5-can-replan
TEST_F(ExecutionTest, CancellingTakesEffectAtOnce) {
    begin(plan({tool("a"), tool("b")}));
    execution->stop(Stop::Cancelled);
    ASSERT_TRUE(result) << "the plan ends within the call";
    EXPECT_TRUE(result->cancelled);
    EXPECT_FALSE(result->success);
    EXPECT_FALSE(result->can_replan);
    EXPECT_EQ(of("a").state, State::Failed);
    EXPECT_EQ(of("a").error_code, "CANCELLED");
    EXPECT_EQ(of("b").state, State::Skipped);
    EXPECT_EQ(of("b").error_code, "CANCELLED");
    EXPECT_THAT(runner.abandoned, ElementsAre("a"));
    const size_t told = records.size();
    execution->stop(Stop::Cancelled);
    turn();
    EXPECT_EQ(records.size(), told) << "a second cancel publishes nothing";
}

// The result and diagnostics of the previous attempt must not be reported for this one.
TEST_F(ExecutionTest, StoppedAttemptReportsOnlyItsOwnDiagnostics) {
    begin(plan({tool("a", R"("retryPolicy":{"maxRetries":1,"backoffMs":0})")}));
    tool::Outcome first = failed();
    first.result = "\"first\"";
    first.diagnostics = "first";
    end("a", std::move(first));
    wait_until([&] { return runner.starts.size() == 2; });
    execution->stop(Stop::PlanTimeout);
    EXPECT_EQ(of("a").state, State::Timeout);
    EXPECT_EQ(of("a").diagnostics, "a wrote this");
    EXPECT_EQ(of("a").result, "");
}

TEST_F(ExecutionTest, CanBeCancelledAfterAnyRecord) {
    // Cancels after the n-th record, for each n, and checks the invariants of the result.
    std::mt19937 random(7);
    const std::string document =
        plan({tool("a", R"("async":true,)"s + kOnce),
              tool("b", R"("async":true,"retryPolicy":{"maxRetries":1,"backoffMs":0})"),
              tool("c", R"("dependencies":["a"],)"s + kOnce),
              tool("d", R"("async":true,"dependencies":["b"],)"s + kOnce),
              tool("e", R"("required":false,"dependencies":["c","d"],)"s + kOnce)},
             kParallel);
    for (size_t moment = 1;; ++moment) {
        records.clear();
        runner.starts.clear();
        runner.abandoned.clear();
        bool asked = false;
        on_record = [&](const Record&) {
            if (records.size() != moment) return;
            asked = true;
            // A session stops an execution after the callback, never inside it.
            loop.defer([&] { execution->stop(Stop::Cancelled); });
        };
        begin(document);
        while (!result) {
            if (const auto running = runner.running(); !running.empty()) {
                const std::string& name = running[random() % running.size()];
                if (random() % 2 == 0) runner.say(name, log("here"));
                else end(name, random() % 3 == 0 ? failed() : succeeded());
            }
            turn();
        }
        turn();
        on_record = nullptr;
        ASSERT_EQ(result->tools.size(), 5u);
        EXPECT_EQ(slots.used(), 0u);
        EXPECT_THAT(runner.running(), IsEmpty());
        size_t ended = 0;
        for (const Record& record : records) {
            if (record.kind == event::Kind::ToolEnded) ++ended;
        }
        EXPECT_EQ(ended, 5u) << "each tool's end is reported once";
        EXPECT_EQ(of_kind(event::Kind::PlanEnded).size(), 1u);
        EXPECT_EQ(of_kind(event::Kind::AttemptStarted).size(),
                  of_kind(event::Kind::AttemptEnded).size());
        EXPECT_EQ(records.back().kind, event::Kind::PlanEnded);
        if (!asked) break;
    }
}

TEST_F(ExecutionTest, DestroyingItFreesSlotsWithoutReporting) {
    begin(plan({tool("a", kAsync), tool("b", kAsync), tool("c", kAsync)}, kParallel));
    const size_t told = records.size();
    execution.reset();
    EXPECT_EQ(slots.used(), 0u);
    EXPECT_THAT(runner.abandoned, UnorderedElementsAre("a", "b", "c"));
    turn();
    EXPECT_FALSE(result);
    EXPECT_EQ(records.size(), told);
}

// ---- shortage

TEST_F(ExecutionTest, DescriptorShortageDelaysStartWithoutAnAttempt) {
    runner.on_start = [this](const std::string& name) {
        if (name == "a") runner.shortages = 3;
    };
    begin(plan({tool("a", kAsync), tool("b", kAsync)}, kParallel));
    EXPECT_THAT(runner.running(), ElementsAre("a"));
    EXPECT_EQ(slots.used(), 1u);
    EXPECT_EQ(of_kind(event::Kind::Warning).size(), 1u);
    wait_until([&] { return runner.running().size() == 2; });
    end("a");
    end("b");
    EXPECT_TRUE(result->success);
    EXPECT_EQ(of("b").attempts.size(), 1u);
    // One warning when the wait begins, and one when it ends.
    const auto warnings = of_kind(event::Kind::Warning);
    ASSERT_EQ(warnings.size(), 2u);
    EXPECT_EQ(Json(warnings[0].body)["code"].string(), "DESCRIPTORS_SHORT");
    EXPECT_EQ(Json(warnings[1].body)["code"].string(), "DESCRIPTORS_WAITED");
    EXPECT_GT(result->descriptor_wait_ms, 0);
}

TEST_F(ExecutionTest, DescriptorShortageFailsAtOnceIfNothingRuns) {
    runner.shortages = 1;
    begin(plan({tool("a", R"("retryPolicy":{"maxRetries":0})")}));
    wait_until([&] { return result != nullptr; });
    EXPECT_FALSE(result->success);
    EXPECT_EQ(of("a").error_code, "SPAWN_FAILED");
    EXPECT_NE(of("a").error.find("no running tool will free any"), std::string::npos)
        << of("a").error;
    EXPECT_EQ(result->descriptor_wait_ms, 0);
}

TEST_F(ExecutionTest, DescriptorShortageWaitsForEndingProcesses) {
    runner.shortages = 2;
    Settings settings;
    settings.has_processes = [this] { return runner.shortages > 0; };
    begin(plan({tool("a", kOnce)}), std::move(settings));
    wait_until([&] { return runner.running().size() == 1; });
    end("a");
    ASSERT_TRUE(result);
    EXPECT_TRUE(result->success);
    EXPECT_EQ(of("a").attempts.size(), 1u);
    const auto warnings = of_kind(event::Kind::Warning);
    ASSERT_EQ(warnings.size(), 2u);
    EXPECT_EQ(Json(warnings[0].body)["code"].string(), "DESCRIPTORS_SHORT");
}

// The processes to wait for must not be those that the failed start itself left behind.
TEST_F(ExecutionTest, DescriptorShortageIgnoresTheStartsOwnProcess) {
    runner.shortages = 100;
    Settings settings;
    settings.has_processes = [this] { return runner.shortages < 100; };
    begin(plan({tool("a", kOnce)}), std::move(settings));
    wait_until([&] { return result != nullptr; });
    EXPECT_EQ(of("a").error_code, "SPAWN_FAILED");
    EXPECT_EQ(runner.shortages, 99u);
}

TEST_F(ExecutionTest, DescriptorShortageDelaysARetry) {
    begin(plan({tool("long", kAsync),
                tool("a", R"("async":true,"retryPolicy":{"maxRetries":1,"backoffMs":0})")},
               kParallel));
    runner.shortages = 2;
    end("a", failed());
    wait_until([&] { return runner.running().size() == 2; });
    EXPECT_EQ(runner.shortages, 0u);
    end("a");
    end("long");
    EXPECT_TRUE(result->success);
    EXPECT_EQ(of("a").retry_count(), 1u);
}

// ---- events, warnings, conflicts

TEST_F(ExecutionTest, InterleavedLinesStaySeparateAndVerbatim) {
    begin(plan({tool("a", kAsync), tool("b", kAsync)}, kParallel));
    const std::string odd =
        R"({ "message":"\u00e9\/" , "level":"info","type":"log","version":"0","n":1.0})";
    runner.say("a", log("a1"));
    runner.say("b", odd);
    runner.say("a", odd);
    runner.say("b", log("b2"));
    end("a");
    end("b");
    TextOutput output;
    ASSERT_TRUE(result->write(output, true));
    EXPECT_THAT(output.text, HasSubstr("\"events\":[" + log("a1") + "," + odd + "]"));
    EXPECT_THAT(output.text, HasSubstr("\"events\":[" + odd + "," + log("b2") + "]"));
    TextOutput without;
    ASSERT_TRUE(result->write(without, false));
    EXPECT_THAT(without.text, HasSubstr("\"events\":[]"));
    EXPECT_EQ(Json(without.text)["toolResults"][0]["attempts"][0]["events"],
              Json(R"({"first":0,"count":0})"));
}

TEST_F(ExecutionTest, RunnerWarningsAreReportedOnce) {
    begin(plan({tool("a")}));
    tool::Outcome outcome = succeeded();
    outcome.warning_code = "LINGERED";
    outcome.warning = "it went on";
    outcome.lines_after_done = 3;
    end("a", std::move(outcome));
    const auto warnings = of_kind(event::Kind::Warning);
    ASSERT_EQ(warnings.size(), 2u);
    EXPECT_EQ(Json(warnings[0].body)["code"].string(), "LINGERED");
    EXPECT_EQ(Json(warnings[1].body)["code"].string(), "AFTER_DONE");
    EXPECT_THAT(Json(warnings[1].body)["message"].string(), HasSubstr("3 lines"));
    EXPECT_EQ(document()["toolResults"][0]["attempts"][0]["linesAfterDone"].integer(), 3);
}

TEST_F(ExecutionTest, ForeignRequestIdsAreWarnedOfOncePerAttempt) {
    begin(plan({tool("a", R"("retryPolicy":{"maxRetries":1,"backoffMs":0})")}));
    const std::string foreign =
        R"({"version":"0","type":"log","level":"info","message":"m","requestId":"x"})";
    runner.say("a",
               R"({"version":"0","type":"log","level":"info","message":"m","requestId":"plan-1"})");
    EXPECT_THAT(of_kind(event::Kind::Warning), IsEmpty());
    runner.say("a", foreign);
    runner.say("a", foreign);
    EXPECT_EQ(of_kind(event::Kind::Warning).size(), 1u);
    end("a", failed());
    wait_until([&] { return runner.starts.size() == 2; });
    runner.say("a", foreign);
    EXPECT_EQ(of_kind(event::Kind::Warning).size(), 2u);
    end("a");
}

TEST_F(ExecutionTest, OverlappingWritersAreNamedInTheOrderOfWriting) {
    begin(plan({tool("a", kAsync), tool("b", kAsync)}, kParallel));
    runner.say("b", patch(R"({"torch":{"lit":true,"fuel":1},"b":1})"));
    runner.say("a", patch(R"({"torch":{"lit":false},"a":1})"));
    const auto conflicts = of_kind(event::Kind::StateConflict);
    ASSERT_EQ(conflicts.size(), 1u);
    EXPECT_EQ(Json(conflicts[0].body), Json(R"({"path":"/torch/lit","tools":["b","a"]})"));
    EXPECT_EQ(conflicts[0].tool, "a");
    EXPECT_EQ(records[records.size() - 2].kind, event::Kind::ToolEvent)
        << "right after the event that caused it";
    runner.say("b", patch(R"({"torch":{"lit":1}})"));
    runner.say("a", patch(R"({"torch":{"lit":2}})"));
    EXPECT_EQ(of_kind(event::Kind::StateConflict).size(), 1u)
        << "each pair and path is reported once";
    runner.say("a", patch(R"({"torch":{"fuel":null}})"));
    ASSERT_EQ(of_kind(event::Kind::StateConflict).size(), 2u);
    EXPECT_EQ(Json(of_kind(event::Kind::StateConflict)[1].body)["path"].string(), "/torch/fuel");
    end("a");
    end("b");
    ASSERT_EQ(result->conflicts.size(), 2u) << "the result lists them";
    EXPECT_EQ(result->conflicts[0], conflicts[0].body);
}

TEST_F(ExecutionTest, OverwritingAnEarlierRemovalIsAConflict) {
    // The second tool finds no descriptors at first, so the first one is alone when it removes the
    // value.
    runner.on_start = [this](const std::string& name) {
        if (name == "a") runner.shortages = 1;
    };
    begin(plan({tool("a", kAsync), tool("b", kAsync)}, kParallel));
    ASSERT_THAT(runner.running(), ElementsAre("a"));
    runner.say("a", patch(R"({"torch":{"lit":true}})"));
    runner.say("a", patch(R"({"torch":{"lit":null}})"));
    wait_until([&] { return runner.running().size() == 2; });
    runner.say("b", patch(R"({"torch":{"lit":false}})"));
    ASSERT_EQ(of_kind(event::Kind::StateConflict).size(), 1u);
    EXPECT_EQ(Json(of_kind(event::Kind::StateConflict)[0].body),
              Json(R"({"path":"/torch/lit","tools":["a","b"]})"));
    end("a");
    end("b");
}

TEST_F(ExecutionTest, ToolsThatDoNotOverlapDoNotConflict) {
    begin(plan({tool("a"), tool("b")}));
    runner.say("a", patch(R"({"torch":1})"));
    end("a");
    runner.say("b", patch(R"({"torch":2})"));
    end("b");
    EXPECT_THAT(of_kind(event::Kind::StateConflict), IsEmpty());

    // y starts after x has ended, while "long" runs throughout.
    records.clear();
    begin(plan({tool("long", kAsync), tool("x", kAsync),
                tool("y", R"("async":true,"dependencies":["x"])")},
               kParallel));
    runner.say("x", patch(R"({"door":1})"));
    end("x");
    runner.say("y", patch(R"({"door":2})"));
    EXPECT_THAT(of_kind(event::Kind::StateConflict), IsEmpty());
    runner.say("long", patch(R"({"door":3})"));
    EXPECT_EQ(of_kind(event::Kind::StateConflict).size(), 1u);
    end("long");
    end("y");
}

TEST_F(ExecutionTest, AttemptsOfOneToolDoNotConflict) {
    begin(plan({tool("a", R"("retryPolicy":{"maxRetries":1,"backoffMs":0})")}));
    runner.say("a", patch(R"({"torch":1})"));
    end("a", failed());
    wait_until([&] { return runner.starts.size() == 2; });
    runner.say("a", patch(R"({"torch":2})"));
    end("a");
    EXPECT_THAT(of_kind(event::Kind::StateConflict), IsEmpty());
}

// ---- the result

TEST_F(ExecutionTest, DisabledSkillsIncludeEarlierAndFailedOnes) {
    Settings settings;
    settings.disabled_skills = {"old", "b"};
    settings.generation_attempt = 4;
    settings.parent_plan_id = "before";
    begin(plan({tool("a", R"("retryPolicy":{"maxRetries":0})"),
                tool("b", R"("retryPolicy":{"maxRetries":0})"), tool("c")}),
          std::move(settings));
    end("a", failed());
    end("b", failed());
    end("c");
    EXPECT_THAT(result->disabled_skills, ElementsAre("old", "b", "a"));
    EXPECT_EQ(result->generation_attempt, 4);
    EXPECT_TRUE(result->can_replan);
    const Json started(of_kind(event::Kind::PlanStarted)[0].body);
    EXPECT_EQ(started["parentPlanId"].string(), "before");
    EXPECT_EQ(started["generationAttempt"].integer(), 4);
    const Json ended(records.back().body);
    EXPECT_THAT(ended["failedTools"].strings(), ElementsAre("a", "b"));
    EXPECT_TRUE(ended["canReplan"].boolean());
}

TEST_F(ExecutionTest, HistoryNamesToolAndAttempt) {
    begin(plan({tool("a", R"("retryPolicy":{"maxRetries":1,"backoffMs":0})")}));
    runner.say("a", patch(R"({"n":1})"));
    end("a", failed());
    wait_until([&] { return runner.starts.size() == 2; });
    runner.say("a", patch(R"({"n":2})"));
    end("a");
    std::string text;
    state.history().append_json(text);
    const Json patches = Json(text)["patches"];
    ASSERT_EQ(patches.size(), 2u);
    EXPECT_EQ(patches[1]["planId"].string(), "plan-1");
    EXPECT_EQ(patches[1]["toolId"].string(), "a");
    EXPECT_EQ(patches[1]["attempt"].integer(), 2);
    EXPECT_EQ(patches[1]["patch"], Json(R"({"n":2})"));
}

// ---- open executions

TEST_F(ExecutionTest, RunStartsTheToolBeforeItReturns) {
    open();
    ToolInvocation invocation;
    invocation.tool_id = "a";
    invocation.tool_path = "/a";
    EXPECT_EQ(execution->run(std::move(invocation)), 0u);
    EXPECT_THAT(runner.running(), ElementsAre("a"));
    end("a");
    EXPECT_THAT(settled, ElementsAre("0 completed"));
}

TEST_F(ExecutionTest, RunReportsAToolThatEndsWithinItsStart) {
    open();
    runner.on_deliver_early = [this](const std::string& name) { runner.end(name, failed()); };
    ToolInvocation invocation;
    invocation.tool_id = "a";
    invocation.tool_path = "/a";
    invocation.max_retries = 1;
    invocation.backoff_ms = 0;
    execution->run(std::move(invocation));
    EXPECT_THAT(settled, IsEmpty()) << "its second attempt follows";
    wait_until([this] { return !settled.empty(); });
    EXPECT_THAT(runner.started(), ElementsAre("a", "a"));
    runner.on_deliver_early = [this](const std::string& name) { runner.end(name); };
    ToolInvocation next;
    next.tool_id = "b";
    next.tool_path = "/b";
    execution->run(std::move(next));
    EXPECT_THAT(settled, ElementsAre("0 failed EXIT_STATUS", "0 completed"));
}

TEST_F(ExecutionTest, ToolThatSucceedsWithinItsStartIsReportedAndNeverPlaced) {
    open();
    EXPECT_EQ(run_early("a"), 0u);
    EXPECT_EQ(run_early("b"), 0u) << "a is gone";
    EXPECT_THAT(settled, ElementsAre("0 completed", "0 completed"));
    execution->close();
    turn();
    EXPECT_EQ(of("a").attempts.size(), 1u);
    EXPECT_EQ(of("b").attempts.size(), 1u);
}

TEST_F(ExecutionTest, ToolAppendedWithinAStartFollowsIt) {
    open();
    runner.on_start = [this](const std::string& name) {
        if (name == "a") {
            EXPECT_EQ(append("b"), 1u);
        }
    };
    EXPECT_EQ(run_early("a"), 0u);
    EXPECT_THAT(runner.running(), ElementsAre("a")) << "it needs its place, so it has an attempt";
    end("a");
    EXPECT_THAT(runner.running(), ElementsAre("b"));
    end("b");
    EXPECT_THAT(settled, ElementsAre("0 completed", "1 completed"));
}

TEST_F(ExecutionTest, OnlySynchronousToolsStartWithoutASlot) {
    open();
    while (slots.take(this)) {
    }
    run_early("quick", true);
    EXPECT_THAT(settled, ElementsAre("0 completed"));
    run_early("slow");
    EXPECT_THAT(runner.started(), ElementsAre("quick"));
    slots.give_back();
    turn();
    EXPECT_THAT(runner.started(), ElementsAre("quick", "slow"));
}

TEST_F(ExecutionTest, TimeWithinStartsCountsForThePlan) {
    open(plan_time(20));
    runner.on_start = [](const std::string&) {
        const int64_t begin = clock::steady_ms();
        while (clock::steady_ms() - begin < 25) {
        }
    };
    run_early("a");
    turn();
    EXPECT_TRUE(result);
}

TEST_F(ExecutionTest, ShortageWithinAStartIsWaitedFor) {
    open();
    slots.take(this);  // another tool runs, and will free descriptors
    runner.shortages = 1;
    run_early("a");
    EXPECT_THAT(settled, IsEmpty());
    wait_until([this] { return !runner.running().empty(); });
    end("a");
    EXPECT_THAT(settled, ElementsAre("0 completed"));
}

TEST_F(ExecutionTest, LateCancelSparesTheNextToolAtItsPosition) {
    open();
    append("a");
    turn();
    // In the loop: a is reported, b takes its position, the cancel of a arrives.
    runner.end("a");
    loop.defer([this] {
        ToolInvocation next;
        next.tool_id = "b";
        next.tool_path = "/b";
        EXPECT_EQ(execution->run(std::move(next)), 0u);
    });
    execution->cancel(0);
    turn();
    EXPECT_THAT(settled, ElementsAre("0 completed"));
    EXPECT_THAT(runner.running(), ElementsAre("b"));
}

TEST_F(ExecutionTest, OpenExecutionRunsAppendedToolsUntilClosed) {
    open();
    EXPECT_FALSE(result);
    EXPECT_TRUE(Json(records[0].body)["open"].boolean());
    EXPECT_EQ(append("a", kOnce, 7), 0u);
    EXPECT_EQ(append("b"), 1u);
    EXPECT_THAT(runner.running(), IsEmpty()) << "nothing starts within the call";
    turn();
    EXPECT_THAT(runner.running(), ElementsAre("a", "b"));
    end("b", failed());
    end("a");
    EXPECT_THAT(settled, ElementsAre("1 failed EXIT_STATUS", "0 completed"));
    EXPECT_FALSE(result) << "more tools may follow";
    EXPECT_EQ(append("c"), 0u) << "when all have ended, positions start over";
    turn();
    execution->close();
    EXPECT_EQ(append("late"), Execution::kNone);
    turn();
    EXPECT_FALSE(result) << "c still runs";
    end("c");
    ASSERT_TRUE(result);
    EXPECT_TRUE(result->success) << "the tools are optional";
    EXPECT_THAT(result->failed_tools, ElementsAre("b"));
    ASSERT_EQ(tools().size(), 3u);
    EXPECT_EQ(tools()[0].tool_id, "a");
    EXPECT_EQ(tools()[2].tool_id, "c");
    EXPECT_THAT(kinds(),
                ElementsAre("plan_started", "tool_pending a", "tool_pending b", "tool_started a",
                            "attempt_started a", "tool_started b", "attempt_started b",
                            "attempt_ended b", "tool_ended b", "attempt_ended a", "tool_ended a",
                            "tool_pending c", "tool_started c", "attempt_started c",
                            "attempt_ended c", "tool_ended c", "plan_ended"));
    EXPECT_EQ(Json(of_kind(event::Kind::ToolPending)[0].body)["line"].integer(), 7);
    EXPECT_EQ(Json(of_kind(event::Kind::ToolStarted)[0].body)["line"].integer(), 7);
    EXPECT_FALSE(Json(of_kind(event::Kind::ToolPending)[1].body).has("line"));
    EXPECT_EQ(document()["toolResults"][0]["line"].integer(), 7);
    EXPECT_FALSE(document()["toolResults"][1].has("line"));
}

TEST_F(ExecutionTest, IdleOpenExecutionEndsWhenClosed) {
    open();
    execution->close();
    EXPECT_FALSE(result) << "it ends from the loop";
    turn();
    ASSERT_TRUE(result);
    EXPECT_THAT(tools(), IsEmpty());
    open();
    append("a", kOnce, 0, ToolRefusal{"NO", "not this one"});
    append("b");
    execution->close();
    turn();
    EXPECT_FALSE(result) << "the first failed at once; the second runs";
    end("b");
    EXPECT_TRUE(result);
}

TEST_F(ExecutionTest, ClosedExecutionAcceptsNoTools) {
    begin(plan({tool("a")}));
    EXPECT_EQ(append("b"), Execution::kNone);
    end("a");
    EXPECT_EQ(tools().size(), 1u);
}

TEST_F(ExecutionTest, RefusedToolFailsWithoutAnAttempt) {
    open();
    append("a", kOnce, 0, ToolRefusal{"SKILL_DISABLED", "it failed before"});
    turn();
    EXPECT_THAT(settled, ElementsAre("0 failed SKILL_DISABLED"));
    EXPECT_THAT(runner.starts, IsEmpty());
    EXPECT_THAT(kinds(), ElementsAre("plan_started", "tool_pending a", "tool_ended a"));
    execution->close();
    turn();
    EXPECT_THAT(result->disabled_skills, IsEmpty()) << "the tool did not run";
}

TEST_F(ExecutionTest, AppendedToolsShareSlotsAndAreRetried) {
    slots = JobSlots(1);
    open();
    append("a", R"("retryPolicy":{"maxRetries":1,"backoffMs":0})");
    append("b");
    turn();
    EXPECT_THAT(runner.running(), ElementsAre("a"));
    end("a", failed());
    wait_until([&] { return runner.starts.size() == 2; });
    while (runner.starts.size() < 3) {
        const std::string name = runner.running().at(0);
        end(name);
        wait_until([&] { return !runner.running().empty(); });
    }
    end(runner.running().at(0));
    EXPECT_EQ(settled.size(), 2u);
    execution->close();
    turn();
    EXPECT_TRUE(result->success);
    EXPECT_EQ(of("a").retry_count(), 1u);
    EXPECT_EQ(slots.used(), 0u);
}

TEST_F(ExecutionTest, AppendedToolCanBeCancelledInAnyState) {
    slots = JobSlots(1);
    open();
    append("a", R"("retryPolicy":{"maxRetries":5,"backoffMs":100000})");
    turn();
    end("a", failed());
    append("runs");
    append("waits");
    append("last");
    turn();
    EXPECT_THAT(runner.running(), ElementsAre("runs"));
    for (const uint32_t each : {0u, 1u, 2u, 17u}) execution->cancel(each);
    turn();
    EXPECT_THAT(settled,
                ElementsAre("0 failed CANCELLED", "1 failed CANCELLED", "2 skipped CANCELLED"));
    EXPECT_THAT(runner.abandoned, ElementsAre("runs"));
    EXPECT_THAT(runner.running(), ElementsAre("last"));
    execution->cancel(0);
    end("last");
    execution->close();
    turn();
    EXPECT_EQ(settled.size(), 4u) << "each is reported once";
    EXPECT_EQ(slots.used(), 0u);
    EXPECT_THAT(result->disabled_skills, IsEmpty()) << "a cancelled tool has not failed by itself";
}

TEST_F(ExecutionTest, AbandonedToolsAreReportedCancelledBeforeTheEnd) {
    std::vector<std::string> told;
    Settings settings;
    settings.on_tool_settled = [&](uint32_t, const ToolResult& each) {
        EXPECT_FALSE(result);
        told.push_back(each.tool_id + " " + each.error_code);
    };
    open(std::move(settings));
    append("a");
    append("lingers");
    turn();
    runner.say("lingers", kDone);
    append("b");
    execution->stop(Stop::Abandoned);
    ASSERT_TRUE(result);
    EXPECT_THAT(told, ElementsAre("a CANCELLED", "lingers ", "b CANCELLED"));
    EXPECT_FALSE(result->cancelled);
    EXPECT_FALSE(result->timed_out);
    EXPECT_EQ(of("b").state, State::Skipped);
    EXPECT_EQ(append("c"), Execution::kNone);
    turn();
    EXPECT_EQ(told.size(), 3u);
}

TEST_F(ExecutionTest, ListenerMayAppendAndStop) {
    Settings settings;
    settings.on_tool_settled = [&](uint32_t position, const ToolResult&) {
        if (position < 2) EXPECT_EQ(append(position == 0 ? "b" : "c"), position + 1);
        else execution->stop(Stop::Abandoned);
    };
    everything_succeeds();
    open(std::move(settings));
    append("a");
    turn();
    ASSERT_TRUE(result);
    EXPECT_EQ(tools().size(), 3u);
    EXPECT_TRUE(result->success);
}

TEST_F(ExecutionTest, SinkMayAppendDuringAToolReport) {
    open();
    on_record = [this](const Record& record) {
        if (record.kind == event::Kind::AttemptEnded && record.tool == "a") append("b");
    };
    append("a");
    turn();
    end("a");
    EXPECT_THAT(runner.running(), ElementsAre("b"));
    end("b");
    execution->close();
    turn();
    EXPECT_EQ(of("a").attempts.size(), 1u);
}

TEST_F(ExecutionTest, SkillThatFailedThenCompletedIsNotDisabled) {
    open();
    for (const char* id : {"1", "2"}) {
        append("a", kOnce, 0, {}, id);
        turn();
        end("a", *id == '1' ? failed("INPUT_INVALID") : succeeded());
    }
    append("b");
    turn();
    end("b", failed());
    execution->close();
    turn();
    EXPECT_THAT(result->disabled_skills, ElementsAre("b"));
    EXPECT_THAT(result->failed_tools, ElementsAre("1", "b"));
}

TEST_F(ExecutionTest, AppendingEqualsPlanningForIndependentTools) {
    std::mt19937 random(7);
    for (int round = 0; round < 20; ++round) {
        SCOPED_TRACE(round);
        const auto count = static_cast<uint32_t>(1 + random() % 8);
        std::map<std::string, uint32_t> failures;  // of each tool, before it succeeds
        std::vector<std::string> names;
        for (uint32_t i = 0; i < count; ++i) {
            names.push_back("t" + std::to_string(i));
            failures[names.back()] = static_cast<uint32_t>(random() % 4);
        }
        const std::string policy = R"("retryPolicy":{"maxRetries":2,"backoffMs":0})";
        std::map<std::string, uint32_t> tries;
        runner.on_start = [&](const std::string& name) {
            loop.defer([&, name] {
                runner.say(name, patch(R"({")" + name + R"(":1})"));
                const bool fails = ++tries[name] <= failures[name];
                runner.end(name, fails ? failed() : succeeded());
            });
        };
        auto summary = [&] {
            std::vector<std::string> lines;
            for (const ToolResult& each : tools()) {
                lines.push_back(each.tool_id + " " + state_name(each.state) + " " +
                                each.error_code + " " + std::to_string(each.attempts.size()) + " " +
                                each.output);
            }
            return lines;
        };
        std::vector<std::string> entries;
        for (const std::string& name : names) {
            entries.push_back(tool(name, R"("async":true,"required":false,)" + policy));
        }
        begin(plan(entries, kParallel));
        wait_until([&] { return result != nullptr; });
        const std::vector<std::string> planned = summary();
        const std::vector<std::string> disabled = result->disabled_skills;
        tries.clear();
        open();
        for (const std::string& name : names) {
            append(name, policy);
            if (random() % 2 == 0) turn();
        }
        execution->close();
        wait_until([&] { return result != nullptr; });
        EXPECT_EQ(summary(), planned);
        EXPECT_EQ(result->disabled_skills, disabled);
    }
}

}  // namespace
}  // namespace narratoria::plan
