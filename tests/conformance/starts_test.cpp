// SPDX-License-Identifier: Apache-2.0
// Starting tools takes time. A batch of starts must not block the loop for the tools already
// running.

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "narratoria/engine.hpp"

namespace {

using namespace narratoria;

TEST(Starts, AreSpreadOverSeveralRounds) {
    constexpr uint32_t kTools = 40, kInARow = 8;
    std::string plan =
        R"({"requestId":"many","narrative":"","parallel":true,"disabledSkills":[],"tools":[)";
    for (uint32_t i = 0; i < kTools; ++i) {
        if (i > 0) plan += ',';
        plan += R"({"toolId":"t)" + std::to_string(i) +
                R"(","toolPath":"/bin/true","input":{},"dependencies":[],"required":false,)"
                R"("async":true,"retryPolicy":{"maxRetries":0,"backoffMs":0}})";
    }
    plan += "]}";
    EngineOptions options;
    options.jobs = kTools;
    Engine engine(options);
    Session session(engine);
    uint32_t started = 0;
    session.attach([&](Event) { ++started; }, kinds(Kind::ToolStarted));
    session.execute(plan);
    uint32_t rounds = 0;
    while (started < kTools && rounds < 1000) {
        const uint32_t before = started;
        engine.run_for(std::chrono::microseconds(0));  // one round
        ++rounds;
        EXPECT_LE(started - before, kInARow);
    }
    EXPECT_EQ(started, kTools);
    engine.run_until_idle();
}

}  // namespace
