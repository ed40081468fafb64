// SPDX-License-Identifier: Apache-2.0
// A new kind of tool needs one class and one line that registers it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json/writer.hpp"
#include "plan/execution.hpp"
#include "tool/runner/stream_attempt.hpp"

namespace narratoria {
namespace {

// A runner without a process: "echo:TEXT" returns TEXT as its result.
class EchoRunner : public tool::Runner {
public:
    explicit EchoRunner(Loop& loop) : loop_(loop) {}

private:
    class Voice : public tool::Source {
    public:
        Voice(Loop& loop, tool::StreamAttempt& attempt, std::string text)
            : attempt_(attempt), text_(std::move(text)), timer_(loop) {
            timer_.start(0, [this] {
                const size_t size = text_.size();
                text_.append(json::kPadding, '\0');
                attempt_.on_output(text_.data(), size);
                process::Exit exit;
                exit.started = true;
                attempt_.on_exit(exit);
            });
        }
        void terminate(uint32_t) override { timer_.stop(); }
        void stop_reading() override {}

    private:
        tool::StreamAttempt& attempt_;
        std::string text_;
        Timer timer_;
    };

    std::unique_ptr<tool::Attempt> begin(const tool::Invocation& invocation,
                                         tool::AttemptListener& listener,
                                         tool::StartFailure&) override {
        std::string done = R"({"version":"0","type":"done","ok":true,"result":)";
        json::append_string(done, invocation.target);
        auto attempt =
            std::make_unique<tool::StreamAttempt>(loop_, settings_, invocation.limits, listener);
        attempt->set_source(std::make_unique<Voice>(loop_, *attempt, done + "}\n"));
        return attempt;
    }

    Loop& loop_;
    tool::RunnerSettings settings_;
};

class NewRunnerTest : public testing::Test {
protected:
    std::shared_ptr<plan::Result> run(std::string_view document) {
        auto parsed = std::make_unique<plan::Plan>();
        Faults faults;
        EXPECT_TRUE(parsed->parse(document, faults)) << describe_faults(faults, document);
        std::shared_ptr<plan::Result> result;
        plan::Execution execution(
            {loop, slots, slots, resolver, stream, state, assets, environment, limits, sandbox},
            std::move(parsed), {},
            [&](std::shared_ptr<plan::Result> ended) { result = std::move(ended); });
        execution.start();
        while (!result) loop.run_once();
        return result;
    }

    Loop loop;
    plan::JobSlots slots{2};
    tool::Registry registry;
    tool::Runners runners;
    tool::Resolver resolver{registry, runners, ""};
    uint32_t callback_depth = 0;
    event::Stream stream{"session", callback_depth};
    state::Store state{10};
    asset::Registry assets{"/"};
    std::vector<std::string> environment;
    tool::Limits limits;
    tool::SandboxRules sandbox;
};

TEST_F(NewRunnerTest, RunsPathsOfItsScheme) {
    runners.add_scheme("echo", std::make_shared<EchoRunner>(loop));
    const auto result =
        run(R"({"requestId":"p","tools":[{"toolId":"a","toolPath":"echo:hello \"you\""}]})");
    EXPECT_TRUE(result->success);
    EXPECT_EQ(result->tools[0].result, R"("hello \"you\"")");
}

TEST_F(NewRunnerTest, RunsDefinitionsThatNameIt) {
    runners.add("echo", std::make_shared<EchoRunner>(loop));
    auto definition = std::make_shared<tool::Definition>();
    definition->name = "silence";
    definition->runner = "echo";
    registry.add(definition);
    const auto result = run(R"({"requestId":"p","tools":[{"toolId":"a","toolPath":"silence"}]})");
    EXPECT_TRUE(result->success);
    EXPECT_EQ(result->tools[0].result, R"("")");
}

// covers: 002-schema-purpose
TEST_F(NewRunnerTest, InvalidInputFailsWithoutRetry) {
    runners.add("echo", std::make_shared<EchoRunner>(loop));
    auto definition = std::make_shared<tool::Definition>();
    definition->name = "say";
    definition->runner = "echo";
    Faults faults;
    definition->input = tool::Schema::compile(R"({"required":["text"]})", faults);
    registry.add(definition);
    const auto result = run(
        R"({"requestId":"p","tools":[{"toolId":"a","toolPath":"say","retryPolicy":{"maxRetries":3}}]})");
    EXPECT_EQ(result->tools[0].error_code, "INPUT_INVALID");
    EXPECT_EQ(result->tools[0].retry_count(), 0u);
    EXPECT_THAT(result->tools[0].error, testing::HasSubstr(R"("/input/text" is missing)"));
}

// covers: 002-schema-returns
TEST_F(NewRunnerTest, InvalidResultFailsAttempt) {
    runners.add("echo", std::make_shared<EchoRunner>(loop));
    for (const bool is_advice : {false, true}) {
        auto definition = std::make_shared<tool::Definition>();
        definition->name = "say";
        definition->runner = "echo";
        Faults faults;
        definition->result = tool::Schema::compile(R"({"minLength":1})", faults);
        definition->result_is_advice = is_advice;
        registry.replace(definition);
        const auto result = run(R"({"requestId":"p","tools":[{"toolId":"a","toolPath":"say",)"
                                R"("retryPolicy":{"maxRetries":0}}]})");
        EXPECT_EQ(result->success, is_advice);
        EXPECT_EQ(result->tools[0].result, R"("")");
        EXPECT_EQ(result->tools[0].error_code, is_advice ? "" : "RESULT_INVALID");
        if (is_advice) continue;
        EXPECT_EQ(result->tools[0].error,
                  R"(the result violates the tool's schema: "/result" must not be empty)");
    }
}

}  // namespace
}  // namespace narratoria
