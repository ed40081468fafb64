// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks that depend on the session: a valid plan must not use forbidden paths or disabled skills.

#include <string>
#include <string_view>
#include <vector>

#include "base/fault.hpp"
#include "plan/plan.hpp"
#include "tool/resolver.hpp"

namespace narratoria::session {

// Adds a fault for each tool outside the allowed paths, and for each whose toolPath is both a
// registered name and an executable file. `folder` is the base of relative paths.
void add_path_faults(const plan::Plan& plan, const tool::Resolver& resolver,
                     const std::string& folder, Faults& faults);

// Return the problem of one tool, or empty.
std::string path_problem(std::string_view tool_path, const tool::Resolver& resolver,
                         const std::string& folder);
std::string skill_problem(std::string_view tool_path,
                          const std::vector<std::string>& disabled_skills);

// Adds a fault for each tool of a disabled skill.
void add_skill_faults(const plan::Plan& plan, const std::vector<std::string>& disabled_skills,
                      Faults& faults);

}  // namespace narratoria::session
