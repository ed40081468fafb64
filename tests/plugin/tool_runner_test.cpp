// SPDX-License-Identifier: Apache-2.0
// Tool runners whose tools run elsewhere (narratoria.tool_runner/1): they may wait for a place, and
// report where they ran.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "narratoria/host_session.h"
#include "narratoria/tool_runner.h"
#include "plugin/host.hpp"

namespace narratoria::test {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// A runner of the tools "far:…" that does what the test tells it.
class ToolRunnerTest : public PluginHostTest {
protected:
    ToolRunnerTest() {
        functions.schemes = &scheme;
        functions.scheme_count = 1;
        functions.start = [](void* self, uint64_t token, const nar_invocation*, nar_failure*) {
            static_cast<ToolRunnerTest*>(self)->tokens.push_back(token);
            return static_cast<nar_status>(NAR_OK);
        };
        functions.cancel = [](void* self, uint64_t token) {
            static_cast<ToolRunnerTest*>(self)->end(token);
        };
    }
    void open(uint32_t jobs = 1) {
        open_engine({.jobs = jobs});
        open_session();
        host = session->extend("far", NAR_EXTENSION_TOOL_RUNNER, &functions, this);
        invocations = service<nar_host_invocation>(host, NAR_HOST_INVOCATION);
    }
    void run(const std::string& plan) {
        session->execute(plan, folder.path(),
                         [&](Result ended) { result.emplace(ended.json().view()); });
    }
    void drive_until(const std::function<bool()>& condition) { ASSERT_TRUE(until(condition)); }
    void end(uint64_t token, std::string_view details = {}) {
        const std::string line = kDone + "\n";
        auto how = sized<nar_invocation_end>();
        how.last_output = detail::to_c(line);
        how.details = detail::to_c(details);
        invocations->ended(host, token, &how);
    }
    Json attempt() const { return (*result)["toolResults"][0]["attempts"][0]; }

public:
    using Clock = std::chrono::steady_clock;
    const nar_str scheme = NAR_STR_INIT("far");
    nar_tool_runner_extension functions = sized<nar_tool_runner_extension>();
    std::vector<uint64_t> tokens;
    std::optional<Json> result;
    const nar_host* host = nullptr;
    const nar_host_invocation* invocations = nullptr;
};

TEST_F(ToolRunnerTest, WaitingPausesTheTimeout) {
    open();
    run(plan_of({entry("a", "far:a", R"("timeoutMs":30)")}));
    drive_until([&] { return !tokens.empty(); });
    EXPECT_EQ(invocations->set_waiting(host, tokens[0], 1), NAR_OK);
    const auto begin = Clock::now();
    drive_until([&] { return Clock::now() - begin > std::chrono::milliseconds(90); });
    EXPECT_FALSE(result) << "the tool waits for a place";
    EXPECT_EQ(invocations->set_waiting(host, tokens[0], 0), NAR_OK);
    drive_until([&] { return result.has_value(); });
    EXPECT_EQ((*result)["toolResults"][0]["errorCode"].string(), "TIMEOUT");
    EXPECT_EQ(invocations->set_waiting(host, tokens[0], 1), NAR_GONE);
}

TEST_F(ToolRunnerTest, ToolMayWaitFromItsStart) {
    functions.start = [](void* instance, uint64_t token, const nar_invocation*, nar_failure*) {
        auto& self = *static_cast<ToolRunnerTest*>(instance);
        self.tokens.push_back(token);
        return self.invocations->set_waiting(self.host, token, 1);
    };
    open();
    run(plan_of({entry("a", "far:a", R"("timeoutMs":30)")}));
    drive_until([&] { return !tokens.empty(); });
    const auto begin = Clock::now();
    drive_until([&] { return Clock::now() - begin > std::chrono::milliseconds(90); });
    EXPECT_FALSE(result);
    end(tokens[0]);
    drive_until([&] { return result.has_value(); });
    EXPECT_TRUE((*result)["success"].boolean());
}

TEST_F(ToolRunnerTest, DetailsAreInTheResult) {
    open();
    run(plan_of({entry("a", "far:a")}));
    drive_until([&] { return !tokens.empty(); });
    end(tokens[0], R"({ "node": "n1" })");
    drive_until([&] { return result.has_value(); });
    EXPECT_EQ(attempt()["details"], Json(R"({"node":"n1"})"));
}

TEST_F(ToolRunnerTest, PermanentFailureIsNotRetried) {
    open();
    for (const uint32_t is_permanent : {0u, 1u}) {
        tokens.clear();
        result.reset();
        run(plan_of({entry("a", "far:a", R"("retryPolicy":{"maxRetries":1,"backoffMs":1})")}));
        const auto fail = [&] {
            auto how = sized<nar_invocation_end>();
            how.error_code = NAR_STR("REFUSED");
            how.flags = is_permanent != 0 ? NAR_END_PERMANENT : 0;
            const uint64_t token = tokens.back();
            how.flags |= 2;
            EXPECT_EQ(invocations->ended(host, token, &how), NAR_INVALID_ARGUMENT);
            how.flags ^= 2;
            EXPECT_EQ(invocations->ended(host, token, &how), NAR_OK);
        };
        drive_until([&] { return tokens.size() == 1; });
        fail();
        drive_until([&] { return result.has_value() || tokens.size() == 2; });
        EXPECT_EQ(tokens.size(), is_permanent == 0 ? 2u : 1u);
        if (!result) fail();
        drive_until([&] { return result.has_value(); });
        EXPECT_EQ((*result)["toolResults"][0]["errorCode"].string(), "REFUSED");
    }
}

TEST_F(ToolRunnerTest, ManifestReachesTheRunner) {
    folder.write("a.tool.json", R"({"limits":{"memory_bytes":7000000,"cpu_seconds":3},
        "times":{"try_ms":5000},"resources":{ "cpus": 2 }})");
    functions.start = [](void* instance, uint64_t token, const nar_invocation* given,
                         nar_failure*) {
        auto& self = *static_cast<ToolRunnerTest*>(instance);
        self.tokens.push_back(token);
        EXPECT_EQ(detail::to_view(given->resources), R"({"cpus":2})");
        EXPECT_EQ(given->try_ms, 5000u);
        EXPECT_EQ(given->limits->size, sizeof(nar_limits));
        EXPECT_EQ(given->limits->memory_bytes, 7000000u);
        EXPECT_EQ(given->limits->cpu_seconds, 3u);
        EXPECT_EQ(given->limits->file_bytes, UINT64_MAX) << "no limit";
        EXPECT_EQ(given->limits->processes, UINT32_MAX) << "no limit";
        EXPECT_EQ(given->limits->state_bytes, 0u) << "not of a tool";
        return static_cast<nar_status>(NAR_OK);
    };
    open();
    run(plan_of({entry("a", "far:a")}));
    drive_until([&] { return !tokens.empty(); });
    end(tokens[0]);
    drive_until([&] { return result.has_value(); });
}

TEST_F(ToolRunnerTest, ManifestChecksTheInput) {
    folder.write("a.tool.json", R"({"input":{"required":["door"]}})");
    open();
    run(plan_of({entry("a", "far:a")}));
    drive_until([&] { return result.has_value(); });
    EXPECT_EQ((*result)["toolResults"][0]["errorCode"].string(), "INPUT_INVALID");
    EXPECT_THAT(tokens, SizeIs(0));
}

TEST_F(ToolRunnerTest, UnusableDetailsAreIgnored) {
    for (const std::string& details :
         {std::string("[]"), std::string("{"), R"({"a":")" + std::string(64 * 1024, 'x') + "\"}"}) {
        tokens.clear();
        result.reset();
        log.clear();
        open();
        run(plan_of({entry("a", "far:a")}));
        drive_until([&] { return !tokens.empty(); });
        end(tokens[0], details);
        drive_until([&] { return result.has_value(); });
        EXPECT_TRUE((*result)["success"].boolean());
        EXPECT_FALSE(attempt().has("details"));
        EXPECT_THAT(log, HasSubstr("the details of an invocation's end are ignored"));
    }
}

TEST_F(ToolRunnerTest, CodeOfADifferentFormIsReadAsToolFailed) {
    open();
    for (const char* code : {"has space and\nnewline", "\xff", "queue_full"}) {
        result.reset();
        log.clear();
        run(plan_of({entry("a", "far:a", R"("retryPolicy":{"maxRetries":0})")}));
        const size_t before = tokens.size();
        drive_until([&] { return tokens.size() > before; });
        auto how = sized<nar_invocation_end>();
        how.error_code = detail::to_c(code);
        how.error = NAR_STR("no");
        EXPECT_EQ(invocations->ended(host, tokens.back(), &how), NAR_OK);
        drive_until([&] { return result.has_value(); });
        EXPECT_EQ((*result)["toolResults"][0]["errorCode"].string(), "TOOL_FAILED");
        EXPECT_THAT(log, HasSubstr("is not a code like QUEUE_FULL"));
    }
}

TEST_F(ToolRunnerTest, StartFailureHasACodeOfTheRightForm) {
    functions.start = [](void*, uint64_t, const nar_invocation*, nar_failure* failure) {
        std::strcpy(failure->message, "no");
        std::strcpy(failure->code, "not a code");
        return static_cast<nar_status>(NAR_NOT_FOUND);
    };
    open();
    run(plan_of({entry("a", "far:a")}));
    drive_until([&] { return result.has_value(); });
    EXPECT_EQ((*result)["toolResults"][0]["errorCode"].string(), "SPAWN_FAILED");
}

TEST_F(ToolRunnerTest, TextWithoutDataIsRefusedAndReported) {
    open();
    run(plan_of({entry("a", "far:a")}));
    drive_until([&] { return !tokens.empty(); });
    const nar_str nothing{nullptr, 5};
    EXPECT_EQ(invocations->output(host, tokens[0], nothing), NAR_INVALID_ARGUMENT);
    EXPECT_EQ(invocations->diagnostics(host, tokens[0], nothing), NAR_INVALID_ARGUMENT);
    auto how = sized<nar_invocation_end>();
    how.last_output = nothing;
    EXPECT_EQ(invocations->ended(host, tokens[0], &how), NAR_INVALID_ARGUMENT);
    const auto* state = service<nar_host_state>(host, NAR_HOST_STATE);
    EXPECT_EQ(state->patch(host, nothing), NAR_INVALID_ARGUMENT);
    const auto write = [](void*, nar_str) { return static_cast<nar_status>(NAR_OK); };
    EXPECT_EQ(state->read(host, nothing, write, nullptr), NAR_INVALID_ARGUMENT);
    EXPECT_THAT(log, HasSubstr("NULL as its data and the size 5"));
    end(tokens[0]);
    drive_until([&] { return result.has_value(); });
    EXPECT_TRUE((*result)["success"].boolean());
}

TEST_F(ToolRunnerTest, WaitingToolsAreNotLimitedByJobs) {
    for (const bool waits : {false, true}) {
        tokens.clear();
        result.reset();
        functions.flags = waits ? NAR_TOOL_RUNNER_WAITS : 0;
        open(1);
        const std::string async = R"("async":true)";
        run(plan_of(
            {entry("a", "far:a", async), entry("b", "far:b", async), entry("c", "far:c", async)},
            R"("parallel":true)"));
        const size_t expected = waits ? 3 : 1;
        drive_until([&] { return tokens.size() >= expected; });
        engine->run_for(std::chrono::milliseconds(0));
        EXPECT_THAT(tokens, SizeIs(expected));
        session.reset();
    }
}

TEST_F(ToolRunnerTest, UnknownFlagsAreRefused) {
    functions.flags = 6;
    try {
        open();
        FAIL() << "it was accepted";
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("its tool runner has unknown flags"));
    }
}

}  // namespace
}  // namespace narratoria::test
