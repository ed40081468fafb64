// SPDX-License-Identifier: Apache-2.0
#pragma once
// Validates documents against their schema and the rules, for several commands.

#include <string>
#include <vector>

#include "narratoria/validate.hpp"

namespace narratoria::command {

struct ValidateOptions {
    std::vector<std::string> files;
    bool as_json = false;
    bool with_plugins = false;  // also load the plugins of stories
    bool is_strict = false;     // a warning is a fault
};

// Prints the faults of each file and returns the exit status. `what` names the kind of document.
int run_validate(Document document, const std::string& what, const ValidateOptions& options);

}  // namespace narratoria::command
