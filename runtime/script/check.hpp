// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "script/error.hpp"
#include "script/limits.hpp"

namespace narratoria::script {

struct Surroundings {
    // The names of the variables that the script is given. If they are unknown, a variable is a
    // fault only if its name is a word that cannot be meant as one, such as WHILE.
    std::optional<std::vector<std::string_view>> scope;
    // Returns a hint, which may be empty, if a script cannot CALL a tool of this name. Empty: the
    // tools are unknown, and not checked.
    std::function<std::optional<std::string>(std::string_view name)> missing_tool;
    // Likewise, if the schema of a tool does not name an argument, which is then dropped.
    std::function<std::optional<std::string>(std::string_view tool, std::string_view argument)>
        unknown_argument;
};

// Finds the places at which a script fails whenever it gets there: unknown functions and tools,
// wrong numbers of arguments, and variables that nothing sets; also arguments that are dropped. In
// the order of the source. If the
// script is not valid, the only error says why.
std::vector<Error> check(std::string_view source, const Limits& limits, const Surroundings& around);

}  // namespace narratoria::script
