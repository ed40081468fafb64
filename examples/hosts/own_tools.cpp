// SPDX-License-Identifier: Apache-2.0
// A host whose functions are tools: one that answers at once, and one that answers from a thread.
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <thread>

#include "narratoria/engine.hpp"
#include "narratoria/tools.hpp"

namespace {

using narratoria::plugin::Invocation;
using narratoria::plugin::InvocationRequest;

constexpr std::string_view kPlan = R"({
    "requestId": "own-tools",
    "tools": [
        {"toolId": "roll", "toolPath": "dice", "input": {"sides": 6}},
        {"toolId": "hear", "toolPath": "weather", "dependencies": ["roll"]}
    ]
})";

bool run() {
    std::jthread worker;
    narratoria::Engine engine;
    narratoria::Session session(engine);

    session.tools().add(
        {.name = "dice",
         .description = "Rolls a die",
         .input_schema = R"({"properties": {"sides": {"type": "integer", "minimum": 2}}})",
         .result_schema = R"({"type": "integer"})",
         .owner = "my-game"},
        [](const InvocationRequest&, Invocation invocation) { invocation.result("4"); });

    session.tools().add(
        {.name = "weather", .description = "Tells the weather", .owner = "my-game", .waits = true},
        [&](const InvocationRequest&, Invocation invocation) {
            worker = std::jthread([invocation] { invocation.result("\"It rains.\""); });
        });

    bool success = false;
    session.execute(kPlan, {}, [&](narratoria::Result result) {
        success = result.success();
        std::printf("%s\n", std::string(result.json().view()).c_str());
    });
    engine.run_until_idle();
    return success;
}

}  // namespace

int main() {
    try {
        return run() ? 0 : 1;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
