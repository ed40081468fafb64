// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "tool/project/binding.hpp"

namespace narratoria::tool::project {

struct EntryProblem {
    std::string message;
    bool is_warning;
};

// Returns why Python would not find the module of a binding, or the function in it. Runs nothing.
std::optional<EntryProblem> entry_problem(const Binding& binding);

}  // namespace narratoria::tool::project
