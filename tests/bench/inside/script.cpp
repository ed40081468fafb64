// SPDX-License-Identifier: Apache-2.0
// script WHAT [COUNT]: the cost of a script in processor time.
//   loop      rounds per second of a nested FOR with four arithmetic operations and a LET
//   call      CALLs per second of an in-process tool with a schema
//   parse     bytes of source per second, into the syntax tree
//   compile   the same, into a program
//   waiting   bytes for each of COUNT scripts that wait in a CALL, including its program

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "memory.hpp"
#include "processor_clock.hpp"
#include "script/machine.hpp"
#include "script/program.hpp"
#include "script/syntax.hpp"

using namespace narratoria;
using script::Machine;

namespace {

// One tool, `identity`, with the schema {value: number}.
class OneTool : public script::Tools {
public:
    bool waits = false;

    bool has(std::string_view tool) override { return tool == "identity"; }
    bool check(std::string_view, script::Value& arguments, script::Memory& memory,
               std::string& faults) override {
        const script::Value* const value = arguments.find("value");
        if (value == nullptr || !value->is_number()) {
            faults = "Parameter 'value': Expected number";
            return false;
        }
        if (arguments.members().size() > 1) {
            arguments = memory.ordered_object(
                1, [&](uint32_t) { return memory.string("value"); },
                [&](uint32_t) { return *value; });
        }
        return true;
    }
    Outcome start(const script::ToolCall& call, script::Memory&, script::Value& result,
                  std::string&) override {
        if (waits) return Outcome::Waiting;
        result = *call.arguments.find("value");
        return Outcome::Returned;
    }
};

[[noreturn]] void give_up(const script::Error& error) {
    std::fprintf(stderr, "%s: %s\n", error.name.c_str(), error.message.c_str());
    std::exit(1);
}

script::Limits wide() {
    script::Limits limits;
    limits.steps = limits.calls = limits.source_bytes = 0;
    limits.milliseconds = 0;
    return limits;
}

// The processor seconds of one run.
double run(const std::string& source, OneTool& tools) {
    script::Error error;
    const auto program = script::Program::compile(source, wide(), error);
    if (!program) give_up(error);
    Machine::Options options;
    options.limits = wide();
    Machine machine(program, tools, options);
    const double begin = bench::processor_seconds();
    machine.run();
    const double seconds = bench::processor_seconds() - begin;
    if (machine.state() != Machine::State::Finished) give_up(machine.error());
    return seconds;
}

std::string list(unsigned long count) {
    std::string out = "[";
    for (unsigned long i = 0; i < count; ++i) out += std::to_string(i + 1) + ",";
    return out + "]";
}

// Statements of every kind, as a language model writes them.
std::string story(size_t bytes) {
    std::string out;
    for (unsigned i = 0; out.size() < bytes; ++i) {
        const std::string n = std::to_string(i % 1000);
        out += "// what the player finds in room " + n + "\n";
        out += "LET room_" + n + " = {name: \"Room " + n + "\", doors: [1, 2, " + n +
               "], lit: true}\n";
        out += "LET gold_" + n + " = (room_" + n + ".doors[0] + 3.5) * 2 - " + n + " / 7\n";
        out += "IF gold_" + n + " > 10 AND NOT (room_" + n + ".lit == false) THEN\n";
        out += "    CALL show_image {title: \"A hall\", size: gold_" + n + " % 5}\n";
        out += "    FOR door IN room_" + n + ".doors DO\n";
        out += "        PRINT(FORMAT(\"Door {door} of {room}\", {door: door, room: room_" + n +
               ".name}))\n    END\nELSE\n    PRINT(\"It is dark.\")\nEND\n";
    }
    return out;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "";
    const auto count = static_cast<unsigned long>(argc > 2 ? std::atol(argv[2]) : 0);
    OneTool tools;
    if (what == "loop") {
        // 200,000 rounds: 1,000 outer times 200 inner.
        const double seconds = run(
            "LET outer = " + list(1000) + " LET inner = " + list(200) +
                " LET k = 3\nFOR i IN outer DO FOR j IN inner DO LET x = i * 2 + j / k - 1 END END",
            tools);
        std::printf("%.1f\n", 200000 / seconds);
    } else if (what == "call") {
        const double seconds =
            run("LET outer = " + list(100) + " LET inner = " + list(1000) +
                    "\nFOR i IN outer DO FOR j IN inner DO LET x = CALL identity "
                    "{value: j} END END",
                tools);
        std::printf("%.1f\n", 100000 / seconds);
    } else if (what == "parse" || what == "compile") {
        const std::string source = story(10'000'000);
        script::Error error;
        const double begin = bench::processor_seconds();
        bool parsed = false;
        if (what == "parse") {
            script::Syntax syntax;
            parsed = script::parse(source, wide(), syntax, error);
        } else {
            parsed = script::Program::compile(source, wide(), error) != nullptr;
        }
        const double seconds = bench::processor_seconds() - begin;
        if (!parsed) give_up(error);
        std::printf("%.1f\n", static_cast<double>(source.size()) / seconds);
    } else if (what == "waiting") {
        const unsigned long scripts = count > 0 ? count : 10000;
        tools.waits = true;
        const std::string source =
            story(1) + "LET answer = CALL identity {value: 1}\nPRINT(answer)\n";
        // Replaces the branch's CALL of a different tool, which this program does not have.
        std::string calm = source;
        calm.replace(calm.find("show_image {title: \"A hall\", size:"),
                     std::strlen("show_image {title: \"A hall\", size:"), "identity {value:");
        const uint64_t before = bench::resident_bytes();
        std::vector<std::unique_ptr<Machine>> machines;
        for (unsigned long i = 0; i < scripts; ++i) {
            script::Error error;
            const auto program = script::Program::compile(calm, wide(), error);
            if (!program) give_up(error);
            Machine::Options options;
            options.limits = wide();
            machines.push_back(std::make_unique<Machine>(program, tools, options));
            if (machines.back()->run() != Machine::State::Waiting) {
                give_up(machines.back()->error());
            }
        }
        std::printf("%.0f\n", static_cast<double>(bench::resident_bytes() - before) /
                                  static_cast<double>(scripts));
    } else {
        std::fprintf(stderr, "usage: script loop|call|parse|compile|waiting [COUNT]\n");
        return 2;
    }
    return 0;
}
