// SPDX-License-Identifier: Apache-2.0
#include "session/plan_faults.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace narratoria::session {
namespace {

// The offset of a string's opening quotation mark in the plan's document. 0 if the string was
// written with escapes: it is then decoded into a separate buffer.
size_t byte_in(const plan::Plan& plan, std::string_view text) {
    const std::string_view document = plan.text();
    const bool inside =
        text.data() > document.data() && text.data() < document.data() + document.size();
    return inside ? static_cast<size_t>(text.data() - document.data()) - 1 : 0;
}

Fault tool_fault(const char* rule, const plan::Plan& plan, size_t tool, std::string message) {
    return {rule, "/tools/" + std::to_string(tool) + "/toolPath",
            byte_in(plan, plan.tools[tool].tool_path), std::move(message), ""};
}

std::string forbidden_problem(std::string_view tool_path, const tool::Resolver& resolver,
                              const std::string& folder) {
    if (!resolver.restricts()) return {};
    tool::Resolution resolution = resolver.resolve(tool_path, folder);
    return resolution.forbidden ? std::move(resolution.error) : std::string();
}

std::string disabled_problem(std::string_view skill) {
    return "the skill \"" + std::string(skill) +
           "\" failed in this prompt and is disabled; choose a different tool";
}

}  // namespace

std::string path_problem(std::string_view tool_path, const tool::Resolver& resolver,
                         const std::string& folder) {
    std::string clash = resolver.clash(tool_path, folder);
    return clash.empty() ? forbidden_problem(tool_path, resolver, folder) : clash;
}

std::string skill_problem(std::string_view tool_path,
                          const std::vector<std::string>& disabled_skills) {
    const std::string_view skill = plan::skill_of(tool_path);
    const bool is_disabled =
        std::find(disabled_skills.begin(), disabled_skills.end(), skill) != disabled_skills.end();
    return is_disabled ? disabled_problem(skill) : std::string();
}

void add_path_faults(const plan::Plan& plan, const tool::Resolver& resolver,
                     const std::string& folder, Faults& faults) {
    // Check each path once: plans repeat their paths, and each check is a system call.
    std::unordered_set<std::string_view> looked_for;
    for (size_t i = 0; i < plan.tools.size(); ++i) {
        const std::string_view path = plan.tools[i].tool_path;
        if (!looked_for.insert(path).second) continue;
        std::string clash = resolver.clash(path, folder);
        if (clash.empty()) continue;
        faults.push_back(tool_fault("plan-tool-path-ambiguous", plan, i, std::move(clash)));
    }
    for (size_t i = 0; i < plan.tools.size(); ++i) {
        std::string problem = forbidden_problem(plan.tools[i].tool_path, resolver, folder);
        if (problem.empty()) continue;
        faults.push_back(tool_fault("plan-path-allowed", plan, i, std::move(problem)));
    }
}

void add_skill_faults(const plan::Plan& plan, const std::vector<std::string>& disabled_skills,
                      Faults& faults) {
    const std::unordered_set<std::string_view> disabled(disabled_skills.begin(),
                                                        disabled_skills.end());
    for (size_t i = 0; i < plan.tools.size(); ++i) {
        const std::string_view skill = plan::skill_of(plan.tools[i].tool_path);
        if (!disabled.contains(skill)) continue;
        faults.push_back(tool_fault("plan-skill-disabled", plan, i, disabled_problem(skill)));
    }
}

}  // namespace narratoria::session
