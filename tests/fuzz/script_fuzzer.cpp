// SPDX-License-Identifier: Apache-2.0
// A script: any bytes are refused with a position and a reason, or run within the limits. A script
// that pauses after every block behaves like one that runs without pauses, and the syntax tree is
// valid JSON.

#include <memory>
#include <string>

#include "base/bytes/utf8.hpp"
#include "require.hpp"
#include "script/machine.hpp"
#include "script/program.hpp"
#include "script/syntax.hpp"

using namespace narratoria;
using script::Machine;

namespace {

// NOW() returns the same time in every run.
class StillClock : public Clock {
public:
    int64_t wall_us() const override { return 1'700'000'000'000'000; }
    int64_t steady_ms() const override { return 0; }
    uint64_t start(uint64_t, std::function<void()>) override { return 1; }
    void stop(uint64_t) override {}
};

// Every name is a tool; its first letter selects the tool's behaviour.
class AnyTool : public script::Tools {
public:
    bool has(std::string_view tool) override { return tool[0] != 'n'; }
    bool check(std::string_view tool, script::Value& arguments, script::Memory& memory,
               std::string& faults) override {
        if (tool[0] == 'k') {
            arguments = memory.object({});
        } else if (tool[0] == 'c') {
            faults = "Parameter 'x': Required";
            return false;
        }
        return true;
    }
    Outcome start(const script::ToolCall& call, script::Memory&, script::Value& result,
                  std::string& message) override {
        REQUIRE(call.line > 0 && call.column > 0);
        if (call.tool[0] == 'f') {
            message = "no";
            return Outcome::Failed;
        }
        if (call.tool[0] == 'w') return Outcome::Waiting;
        result = call.arguments;
        return Outcome::Returned;
    }
};

void require_good(const script::Error& error, std::string_view source) {
    REQUIRE(!error.message.empty());
    REQUIRE(utf8::is_valid(error.message));
    REQUIRE(error.line > 0 && error.column > 0);
    REQUIRE(script::describe(error, source).back() == '\n');
}

std::string run(const std::shared_ptr<const script::Program>& program, const script::Limits& limits,
                uint64_t steps) {
    static const StillClock clock;
    AnyTool tools;
    Machine::Options options;
    options.limits = limits;
    options.clock = &clock;
    Machine machine(program, tools, options);
    script::Error error;
    REQUIRE(machine.set_scope(R"({"a":1,"host":{"x":[1,2,{"y":null}]}})", error));
    for (int answers = 0;;) {
        const Machine::State state = machine.run(steps);
        if (state == Machine::State::Finished || state == Machine::State::Failed) break;
        if (state == Machine::State::Ready) {
            REQUIRE(steps > 0);
            continue;
        }
        std::string arguments;
        append_json(arguments, machine.call().arguments);
        switch (answers++ % 3) {
            case 0: REQUIRE(machine.resume_json(arguments)); break;
            case 1: REQUIRE(machine.resume(machine.call().arguments)); break;
            default: REQUIRE(machine.resume_json("[1,{\"a\":\"b\"}]"));
        }
    }
    REQUIRE(machine.memory().used() <= limits.memory_bytes);
    REQUIRE(machine.calls() <= limits.calls);
    if (machine.error()) require_good(machine.error(), program->source());
    std::string result;
    for (const std::string& line : machine.output()) result += line + "\n";
    REQUIRE(result.size() <= limits.output_bytes);
    std::string scope;
    if (machine.append_scope(scope)) {
        const fuzz::PaddedText text(scope);
        json::Tape tape;
        json::ParseError problem;
        REQUIRE(tape.parse(text.view(), problem, json::kDepthOfOwn));
    } else {
        REQUIRE(scope.empty());
    }
    result += scope;
    return result + machine.error().name + machine.error().message +
           std::to_string(machine.error().line) + ":" + std::to_string(machine.error().column);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) return 0;
    // The bits of the first byte select narrow limits.
    script::Limits limits;
    limits.steps = data[0] & 1 ? 300 : 20000;
    limits.calls = data[0] & 2 ? 2 : 100;
    limits.depth = data[0] & 4 ? 5 : 512;
    limits.value_bytes = data[0] & 8 ? 100 : 1u << 16;
    limits.memory_bytes = data[0] & 16 ? 1000 : 1u << 20;
    limits.output_bytes = data[0] & 32 ? 50 : 1u << 16;
    const std::string source(reinterpret_cast<const char*>(data) + 1, size - 1);

    script::Syntax syntax;
    script::Error error;
    if (script::parse(source, limits, syntax, error)) {
        std::string tree;
        append_tree(tree, syntax);
        const fuzz::PaddedText text(tree);
        json::Tape tape;
        json::ParseError problem;
        // Chains of operators may nest deeper than our JSON reader allows.
        REQUIRE(tape.parse(text.view(), problem) ||
                problem.kind == json::ParseError::Kind::TooDeep);
    }
    script::Error again;
    const auto program = script::Program::compile(source, limits, again);
    REQUIRE((program == nullptr) == static_cast<bool>(error));
    if (program == nullptr) {
        REQUIRE(error.message == again.message);
        require_good(error, source);
        return 0;
    }
    // Large enough for the initial scope, which would otherwise be refused.
    limits.memory_bytes = std::max<uint64_t>(limits.memory_bytes, 2000);
    limits.value_bytes = std::max<uint64_t>(limits.value_bytes, 200);
    REQUIRE(run(program, limits, 0) == run(program, limits, 1));
    return 0;
}
