// SPDX-License-Identifier: Apache-2.0
// How the host drives a machine. language_test.cpp covers the language itself.
#include "script/machine.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "test_tools.hpp"
#include "unit/base/fake_clock.hpp"

namespace narratoria::script {
namespace {

class MachineTest : public ::testing::Test {
protected:
    std::shared_ptr<const Program> program(const std::string& source) {
        Error error;
        auto compiled = Program::compile(source, options_.limits, error);
        EXPECT_TRUE(compiled) << error.message;
        return compiled;
    }
    std::unique_ptr<Machine> machine(const std::string& source) {
        return std::make_unique<Machine>(program(source), tools_, options_);
    }
    static std::string scope(const Machine& machine) {
        std::string out;
        machine.append_scope(out);
        return out;
    }

    narratoria::test::FakeClock clock_;
    Machine::Options options_{{}, &clock_, {}};
    test::TestTools tools_;
};

using State = Machine::State;

// Tools that pause their machine in each CALL.
class PausingTools : public test::TestTools {
public:
    Machine* machine = nullptr;
    Outcome start(const ToolCall& call, Memory& memory, Value& result,
                  std::string& message) override {
        machine->pause();
        return TestTools::start(call, memory, result, message);
    }
};

TEST_F(MachineTest, ToolMayPauseTheMachineAndAnswerAtOnce) {
    PausingTools tools;
    Machine made(program("FOR i IN [1,2,3] DO PRINT(CALL identity {value: i}) END"), tools,
                 options_);
    tools.machine = &made;
    for (size_t calls = 1; calls <= 3; ++calls) {
        EXPECT_EQ(made.run(), State::Ready);
        EXPECT_EQ(tools.called.size(), calls);
    }
    EXPECT_EQ(made.run(), State::Finished);
    EXPECT_EQ(made.output(), (std::vector<std::string>{"1", "2", "3"}));
}

// Nested loops of 40 rounds each: practically endless.
std::string endless() {
    std::string list = "[0";
    for (int i = 1; i < 40; ++i) list += ",0";
    std::string out = "LET l = " + list + "]\n";
    for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
        out += std::string("FOR ") + name + " IN l DO ";
    }
    return out + "END END END END END END END END";
}

TEST_F(MachineTest, WaitsForAToolAndContinuesWithItsResult) {
    const auto run = machine("LET x = CALL later {value: 1}\nPRINT(x.a)");
    EXPECT_EQ(run->run(), State::Waiting);
    EXPECT_EQ(run->call().tool, "later");
    EXPECT_EQ(run->call().line, 1u);
    EXPECT_EQ(run->call().column, 9u);
    std::string arguments;
    append_json(arguments, run->call().arguments);
    EXPECT_EQ(arguments, R"({"value":1})");
    EXPECT_EQ(run->run(), State::Waiting) << "no answer has arrived";
    EXPECT_TRUE(run->resume_json(R"({"a":[1,2]})"));
    EXPECT_EQ(run->state(), State::Ready);
    EXPECT_FALSE(run->resume_json("1")) << "the call already has its answer";
    EXPECT_EQ(run->run(), State::Finished);
    EXPECT_EQ(run->output(), std::vector<std::string>{"[1, 2]"});
    EXPECT_EQ(scope(*run), R"({"x":{"a":[1,2]}})");
    EXPECT_EQ(run->run(), State::Finished);
    EXPECT_FALSE(run->fail("too late"));
}

TEST_F(MachineTest, ManyScriptsWaitConcurrently) {
    const auto shared = program("LET x = CALL later {value: 1}\nLET y = x * 2");
    std::vector<std::unique_ptr<Machine>> machines;
    for (int i = 0; i < 100; ++i) {
        machines.push_back(std::make_unique<Machine>(shared, tools_, options_));
        EXPECT_EQ(machines.back()->run(), State::Waiting);
    }
    for (int i = 99; i >= 0; --i) {
        auto& run = *machines[static_cast<size_t>(i)];
        EXPECT_TRUE(run.resume(Value(double(i))));
        EXPECT_EQ(run.run(), State::Finished);
        EXPECT_EQ(scope(run),
                  "{\"x\":" + std::to_string(i) + ",\"y\":" + std::to_string(2 * i) + "}");
    }
}

TEST_F(MachineTest, WaitingScriptUsesLittleMemory) {
    const auto run = machine("LET x = CALL later {value: 1}\nPRINT(x)");
    EXPECT_EQ(run->run(), State::Waiting);
    EXPECT_LE(run->bytes() + run->program().bytes(), 2048u);
}

TEST_F(MachineTest, InvalidJsonResultFailsTheScript) {
    const auto run = machine("\nCALL later {value: 1}");
    EXPECT_EQ(run->run(), State::Waiting);
    EXPECT_TRUE(run->resume_json("{oops}"));
    EXPECT_EQ(run->run(), State::Failed);
    EXPECT_EQ(run->error().name, "ToolExecutionError");
    EXPECT_EQ(run->error().message.find(
                  "Error executing tool 'later': Execution failed for tool 'later': The result is "
                  "not JSON: "),
              0u);
    EXPECT_EQ(run->error().line, 2u);
}

TEST_F(MachineTest, ResultAboveTheLimitFailsTheScript) {
    options_.limits.value_bytes = 100;
    const auto run = machine("LET x = CALL later {value: 1}");
    EXPECT_EQ(run->run(), State::Waiting);
    EXPECT_TRUE(run->resume_json("\"" + std::string(200, 'x') + "\""));
    EXPECT_EQ(run->run(), State::Failed);
    EXPECT_EQ(run->error().name, "SizeLimitError");
}

TEST_F(MachineTest, LongScriptRunsInSlices) {
    options_.limits.steps = 0;
    const auto run = machine(endless());
    uint64_t before = 0;
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(run->run(1000), State::Ready);
        EXPECT_GE(run->steps(), before + 900);
        EXPECT_LE(run->steps(), before + 1100);
        before = run->steps();
    }
}

TEST_F(MachineTest, CancellationFromAnotherThreadEndsTheScript) {
    options_.limits.steps = options_.limits.milliseconds = 0;
    const auto run = machine(endless());
    EXPECT_EQ(run->run(1000), State::Ready);
    std::thread other([&] { run->cancel(); });
    EXPECT_EQ(run->run(), State::Failed);
    other.join();
    EXPECT_EQ(run->error().name, "CancelledError");
    EXPECT_EQ(run->error().message, "The script was cancelled.");
    EXPECT_GE(run->error().line, 2u);
}

TEST_F(MachineTest, CancellationEndsAWaitingScript) {
    const auto run = machine("CALL later {value: 1}");
    EXPECT_EQ(run->run(), State::Waiting);
    run->cancel();
    EXPECT_EQ(run->run(), State::Failed);
    EXPECT_EQ(run->error().name, "CancelledError");
    EXPECT_FALSE(run->resume(Value(1.0)));
}

TEST_F(MachineTest, CancellationBeforeTheFirstStepRunsNothing) {
    const auto run = machine("PRINT(1)");
    run->cancel();
    EXPECT_EQ(run->run(), State::Failed);
    EXPECT_TRUE(run->output().empty());
}

TEST_F(MachineTest, TimeLimitIncludesWaiting) {
    options_.limits.milliseconds = 50;
    clock_.advance(1000);
    const auto run = machine("CALL later {value: 1} PRINT(1)");
    EXPECT_EQ(run->run(), State::Waiting);
    EXPECT_EQ(run->deadline_ms(), 1050);
    clock_.advance(49);
    EXPECT_EQ(run->run(), State::Waiting);
    clock_.advance(1);
    EXPECT_EQ(run->run(), State::Failed);
    EXPECT_EQ(run->error().name, "TimeLimitError");
    EXPECT_EQ(run->error().message, "The script did not end within 50 ms");
}

TEST_F(MachineTest, TimeLimitEndsALoop) {
    options_.limits.steps = 0;
    options_.limits.milliseconds = 50;
    const auto run = machine(endless());
    EXPECT_EQ(run->run(100000), State::Ready);
    clock_.advance(100);
    EXPECT_EQ(run->run(), State::Failed);
    EXPECT_EQ(run->error().name, "TimeLimitError");
}

TEST_F(MachineTest, PrintedLinesReachTheHostAtOnce) {
    std::vector<std::string> lines;
    options_.on_output = [&](std::string_view line) { lines.emplace_back(line); };
    const auto run = machine("PRINT(1) CALL later {value: 1} PRINT(2)");
    EXPECT_EQ(run->run(), State::Waiting);
    EXPECT_EQ(lines, std::vector<std::string>{"1"});
    run->resume(Value::null());
    run->run();
    EXPECT_EQ(lines, (std::vector<std::string>{"1", "2"}));
    EXPECT_TRUE(run->output().empty());
}

// The host's callback may have cancelled the script or taken long.
TEST_F(MachineTest, PrintedLineEndsTheSlice) {
    int lines = 0;
    options_.on_output = [&](std::string_view) { ++lines; };
    const auto run = machine("FOR a IN [1, 2, 3] DO PRINT(a) END");
    for (int told = 1; told <= 3; ++told) {
        EXPECT_EQ(run->run(100000), State::Ready);
        EXPECT_EQ(lines, told);
    }
    EXPECT_EQ(run->run(100000), State::Finished);
}

TEST_F(MachineTest, OutputCallbackMayCancel) {
    int lines = 0;
    std::unique_ptr<Machine> run;
    options_.on_output = [&](std::string_view) {
        if (++lines == 2) run->cancel();
    };
    run = machine("FOR a IN [1, 2, 3] DO PRINT(a) END");
    EXPECT_EQ(run->run(), State::Failed);
    EXPECT_EQ(run->error().name, "CancelledError");
    EXPECT_EQ(lines, 2);
}

TEST_F(MachineTest, NowReadsTheGivenClock) {
    clock_.advance(123);
    const auto run = machine("PRINT(NOW())");
    run->run();
    EXPECT_EQ(run->output(), std::vector<std::string>{"1700000000123"});
}

TEST_F(MachineTest, FirstScopeIsAJsonObject) {
    const auto run = machine("LET x = 1");
    Error error;
    EXPECT_FALSE(run->set_scope("[1]", error));
    EXPECT_EQ(error.message, "The scope must be a JSON object with the variables as members");
    EXPECT_FALSE(run->set_scope("{\"a\":\n 1,}", error));
    EXPECT_EQ(error.message.find("The scope is not JSON: "), 0u);
    EXPECT_TRUE(run->set_scope(R"({"not a name":1,"x":2})", error));
    EXPECT_EQ(run->run(), State::Finished);
    EXPECT_EQ(scope(*run), R"({"not a name":1,"x":1})");
    EXPECT_FALSE(run->set_scope("{}", error));
}

TEST_F(MachineTest, UnusedValuesAreFreed) {
    options_.limits.memory_bytes = 100000;
    const auto run = machine(R"(LET l = [1,2,3,4,5,6,7,8,9,10]
FOR i IN l DO FOR j IN l DO FOR k IN l DO
  LET o = {a: [i, j, k], b: FORMAT("{i}-{j}-{k}", {i: i, j: j, k: k})}
  IF o.b == "10-10-10" THEN PRINT(o) END
END END END)");
    EXPECT_EQ(run->run(), State::Finished) << run->error().message;
    EXPECT_EQ(run->output(), std::vector<std::string>{"{a: [10, 10, 10], b: 10-10-10}"});
    EXPECT_LT(run->memory().used(), 2000u);
}

TEST_F(MachineTest, DeepValuesFromToolsAreFreed) {
    const std::string deep = std::string(512, '[') + std::string(512, ']');
    const auto run = machine("LET x = CALL later {value: 1} PRINT(x == x) LET y = [x]");
    EXPECT_EQ(run->run(), State::Waiting);
    EXPECT_TRUE(run->resume_json(deep));
    EXPECT_EQ(run->run(), State::Failed);
    EXPECT_EQ(run->error().name, "DepthLimitError");
    EXPECT_EQ(scope(*run), "{\"x\":" + deep + "}");
}

}  // namespace
}  // namespace narratoria::script
