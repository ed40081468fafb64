// SPDX-License-Identifier: Apache-2.0
#include "plan/request.hpp"

#include "base/hash.hpp"
#include "base/json/writer.hpp"
#include "base/random.hpp"

namespace narratoria::plan {

std::vector<std::string> environment_of(const Tool& tool, const std::vector<std::string>& shared) {
    std::vector<std::string> variables = shared;
    for (const json::Member member : tool.environment.members()) {
        const std::string start = std::string(member.key) + "=";
        std::erase_if(variables, [&](const std::string& variable) {
            return variable.compare(0, start.size(), start) == 0;
        });
        variables.push_back(start + std::string(member.value.text()));
    }
    return variables;
}

namespace {

// Views, because a script's CALLs come here a million times: the size of a literal is counted anew
// each time.
constexpr std::string_view kSeed = R"(,"seed":)";
constexpr std::string_view kNoDependencies = R"(,"dependencies":{},"results":{}})"
                                             "\n";

void append_seed(std::string& out, uint32_t seed) { json::append_number(out += kSeed, seed); }

}  // namespace

uint32_t seed_of(uint64_t execution, std::string_view tool_id, uint32_t attempt) {
    return static_cast<uint32_t>(Random(hash_text(tool_id, execution) + attempt).next());
}

std::string request_of(const Plan& plan, uint32_t tool, const std::vector<ToolResult>& results,
                       std::string_view state, uint32_t seed) {
    const Tool& entry = plan.tools[tool];
    std::string out = begin_request(plan.request_id, entry.tool_path, entry.operation);
    json::append_compact(out, entry.input);
    if (!state.empty()) (out += R"(,"state":)") += state;
    if (plan.dependencies.of(tool).size() == 0) {
        end_request(out, seed);
        return out;
    }
    append_seed(out, seed);
    out += R"(,"dependencies":)";
    json::ObjectWriter outputs(out);
    for (const uint32_t dependency : plan.dependencies.of(tool)) {
        const ToolResult& result = results[dependency];
        // The output of a failed optional dependency is null.
        outputs.raw(result.tool_id, result.ok() ? std::string_view(result.output) : "null");
    }
    outputs.end();
    out += R"(,"results":)";
    json::ObjectWriter returned(out);
    for (const uint32_t dependency : plan.dependencies.of(tool)) {
        const ToolResult& result = results[dependency];
        if (result.ok() && !result.result.empty()) returned.raw(result.tool_id, result.result);
    }
    returned.end();
    out += "}\n";
    return out;
}

std::string begin_request(std::string_view plan_id, std::string_view tool_path,
                          std::string_view operation) {
    std::string out;
    json::append_string(out += R"({"requestId":)", plan_id);
    json::append_string(out += R"(,"tool":)", skill_of(tool_path));
    json::append_string(out += R"(,"operation":)", operation);
    out += R"(,"input":)";
    return out;
}

void end_request(std::string& out, uint32_t seed) {
    append_seed(out, seed);
    out += kNoDependencies;
}

}  // namespace narratoria::plan
