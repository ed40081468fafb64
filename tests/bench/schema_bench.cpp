// SPDX-License-Identifier: Apache-2.0
// Checks tool inputs against their schemas and looks tools up by name.

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "tool/registry.hpp"
#include "tool/schema/schema.hpp"

using namespace narratoria;

namespace {

// 20 properties of five types, ten of them required, and an input of 1 KB that has all of them.
struct Sample {
    std::string schema = R"({"type":"object","additionalProperties":false,"properties":{)";
    std::string input = "{";

    Sample() {
        static constexpr const char* kSchemas[] = {
            R"({"type":"string","maxLength":200})",
            R"({"type":"integer","minimum":0,"maximum":100000})",
            R"({"enum":["north","south","east","west"]})",
            R"({"type":"array","items":{"type":"number"},"maxItems":16})",
            R"({"type":"object","required":["x","y"],"additionalProperties":false,"properties":)"
            R"({"x":{"type":"number"},"y":{"type":"number"},"name":{"type":"string"}}})"};
        static constexpr const char* kValues[] = {
            R"("the torch is in the hand of the player, at the north gate; the door behind it")",
            "12345", R"("east")", "[1.5,2,3,4.25,17,99]",
            R"({"x":1.25,"y":-7,"name":"the corner of the room by the door"})"};
        std::string required;
        for (int i = 0; i < 20; ++i) {
            const std::string name = "\"property_" + std::to_string(10 + i) + '"';
            const char* const comma = i > 0 ? "," : "";
            schema += comma + name + ':' + kSchemas[i % 5];
            input += comma + name + ':' + kValues[i % 5];
            if (i < 10) required += comma + name;
        }
        schema += "},\"required\":[" + required + "]}";
        input += '}';
    }
};

const Sample& sample() {
    static const Sample one;
    return one;
}

std::shared_ptr<const tool::Schema> compiled() {
    Faults faults;
    auto schema = tool::Schema::compile(sample().schema, faults);
    if (schema == nullptr) std::abort();
    return schema;
}

void compile(benchmark::State& state) {
    for (auto _ : state) benchmark::DoNotOptimize(compiled());
    state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}
BENCHMARK(compile);

void check(benchmark::State& state) {
    const auto schema = compiled();
    json::Document document;
    json::ParseError error;
    if (!document.parse(sample().input, error) || !schema->check(document.root()).empty()) {
        std::abort();
    }
    for (auto _ : state) benchmark::DoNotOptimize(schema->check(document.root()));
    state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
    state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * sample().input.size()));
}
BENCHMARK(check);

void parse_and_check(benchmark::State& state) {
    const auto schema = compiled();
    json::Document document;
    json::ParseError error;
    for (auto _ : state) {
        document.parse(sample().input, error);
        benchmark::DoNotOptimize(schema->accepts(document.root()));
    }
    state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}
BENCHMARK(parse_and_check);

void find_tool(benchmark::State& state) {
    tool::Registry registry;
    std::vector<std::string> names;
    for (int i = 0; i < 10'000; ++i) {
        auto definition = std::make_shared<tool::Definition>();
        definition->name = names.emplace_back("tool_number_" + std::to_string(i));
        registry.add(std::move(definition));
    }
    size_t at = 0;
    for (auto _ : state) {
        benchmark::DoNotOptimize(registry.find(names[at]));
        at = (at + 7919) % names.size();
    }
    state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}
BENCHMARK(find_tool);

}  // namespace
