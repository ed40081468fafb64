// SPDX-License-Identifier: Apache-2.0
// Plan JSON (spec 003 §13.3). An accepted plan can run: its dependencies exist in both directions
// and have an order. The faults of a refused plan form a valid document.

#include <queue>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/bytes/utf8.hpp"
#include "plan/plan.hpp"
#include "require.hpp"

using namespace narratoria;

namespace {

void require_order(const plan::Plan& plan) {
    const auto count = static_cast<uint32_t>(plan.tools.size());
    std::vector<uint32_t> open(count);
    std::queue<uint32_t> ready;
    size_t edges = 0, edges_back = 0;
    for (uint32_t i = 0; i < count; ++i) {
        std::unordered_set<uint32_t> seen;
        for (const uint32_t dependency : plan.dependencies.of(i)) {
            REQUIRE(dependency < count && dependency != i);
            REQUIRE(seen.insert(dependency).second);
        }
        open[i] = static_cast<uint32_t>(seen.size());
        edges += seen.size();
        edges_back += plan.dependents.of(i).size();
        if (open[i] == 0) ready.push(i);
    }
    REQUIRE(edges == edges_back);
    uint32_t ordered = 0;
    for (; !ready.empty(); ready.pop(), ++ordered) {
        for (const uint32_t dependent : plan.dependents.of(ready.front())) {
            REQUIRE(dependent < count && open[dependent] > 0);
            if (--open[dependent] == 0) ready.push(dependent);
        }
    }
    REQUIRE(ordered == count);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    plan::Plan plan;
    Faults faults;
    const bool accepted = plan.parse(text, faults);
    REQUIRE(accepted == faults.empty());
    if (!accepted) {
        for (const Fault& fault : faults) {
            REQUIRE(!fault.rule.empty() && !fault.message.empty());
            REQUIRE(fault.byte <= size);
            REQUIRE(utf8::is_valid(fault.message) && utf8::is_valid(fault.pointer));
            REQUIRE(fault.pointer.empty() || fault.pointer[0] == '/');
        }
        std::string told;
        append_faults(told, faults, text);
        json::Document document;
        json::ParseError error;
        REQUIRE(document.parse(told, error));
        REQUIRE(!describe_faults(faults, text).empty());
        return 0;
    }
    REQUIRE(!plan.request_id.empty());
    std::unordered_set<std::string_view> ids;
    for (const plan::Tool& tool : plan.tools) {
        REQUIRE(!tool.tool_id.empty() && !tool.tool_path.empty());
        REQUIRE(ids.insert(tool.tool_id).second);
        REQUIRE(tool.max_retries <= 10);
        REQUIRE(tool.input.starts_with('{') && tool.input.ends_with('}'));
        for (const std::string_view disabled : plan.disabled_skills) {
            // A path without a file name has no skill, and the empty name disables nothing.
            REQUIRE(disabled.empty() || plan::skill_of(tool.tool_path) != disabled);
        }
    }
    require_order(plan);
    return 0;
}
