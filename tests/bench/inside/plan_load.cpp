// SPDX-License-Identifier: Apache-2.0
// plan_load TOOLS: parses, validates and orders a plan of TOOLS tools with ten dependencies each.
// Prints the processor seconds and the peak growth of the process in megabytes, which includes the
// plan's copy of the text, but not the host's own text.

#include <cstdio>
#include <cstdlib>
#include <string>

#include "memory.hpp"
#include "plan/plan.hpp"
#include "plan/schedule.hpp"
#include "processor_clock.hpp"

using namespace narratoria;

namespace {

std::string tool_id(uint32_t number) {
    char text[32];
    std::snprintf(text, sizeof text, "tool-%08u-of-a-plan", number);
    return text;
}

std::string plan_of(uint32_t tools) {
    std::string text = R"({"requestId":"large","narrative":"","parallel":true,"tools":[)";
    uint32_t random = 1;
    for (uint32_t i = 0; i < tools; ++i) {
        if (i > 0) text += ',';
        text += R"({"toolId":")" + tool_id(i) + R"(","toolPath":"tools/step.py","input":{"step":)" +
                std::to_string(i) + R"(},"dependencies":[)";
        // Ten different earlier tools.
        const uint32_t dependencies = i < 10 ? i : 10;
        for (uint32_t k = 0; k < dependencies; ++k) {
            random = random * 1664525u + 1013904223u;
            const uint32_t from = i * k / dependencies, to = i * (k + 1) / dependencies;
            if (k > 0) text += ',';
            text += '"' + tool_id(from + (random >> 8) % (to - from)) + '"';
        }
        text += R"(],"required":true,"async":true,"retryPolicy":{"maxRetries":3,"backoffMs":100}})";
    }
    text += "]}";
    return text;
}

// Walks the schedule without running tools; returns the number of tools scheduled.
uint32_t order(const plan::Plan& plan) {
    plan::Schedule schedule(plan);
    uint32_t ordered = 0;
    for (uint32_t tool; (tool = schedule.next()) != plan::Schedule::kNone; ++ordered) {
        schedule.start(tool);
        schedule.settle(tool, true);
    }
    return ordered;
}

}  // namespace

int main(int argc, char** argv) {
    const auto tools = static_cast<uint32_t>(argc > 1 ? std::atol(argv[1]) : 100000);
    const std::string text = plan_of(tools);
    const uint64_t before = bench::resident_bytes();
    bench::forget_peak();
    const double begin = narratoria::bench::processor_seconds();
    plan::Plan plan;
    Faults faults;
    const bool accepted = plan.parse(text, faults);
    const uint32_t ordered = accepted ? order(plan) : 0;
    const double seconds = narratoria::bench::processor_seconds() - begin;
    const uint64_t peak = bench::peak_bytes();
    if (ordered != tools) {
        std::fprintf(stderr, "%s\n", describe_faults(faults, text).substr(0, 400).c_str());
        return 1;
    }
    std::printf("{\"seconds\": %.6f, \"megabytes\": %.1f, \"textMegabytes\": %.1f}\n", seconds,
                static_cast<double>(peak > before ? peak - before : 0) / 1e6,
                static_cast<double>(text.size()) / 1e6);
    return 0;
}
