// SPDX-License-Identifier: Apache-2.0
#pragma once
// Why a valid plan must not run in this session: paths that are not allowed, skills that are disabled.

#include <string>
#include <vector>

#include "base/fault.hpp"
#include "plan/plan.hpp"
#include "tool/resolver.hpp"

namespace narratoria::session {

// `folder` is where the plan's relative paths begin.
void add_path_faults(const plan::Plan& plan, const tool::Resolver& resolver,
                     const std::string& folder, Faults& faults);

void add_skill_faults(const plan::Plan& plan, const std::vector<std::string>& disabled_skills,
                      Faults& faults);

}  // namespace narratoria::session
