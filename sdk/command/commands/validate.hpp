// SPDX-License-Identifier: Apache-2.0
#pragma once
// Documents against their schema and the rules, for the commands that check some.

#include <string>
#include <vector>

#include "narratoria/validate.hpp"

namespace narratoria::command {

struct ValidateOptions {
    std::vector<std::string> files;
    bool as_json = false;
    bool with_plugins = false;  // of a story: also loads them
};

// Prints the faults of each and returns the exit status. `what` names the kind of document.
int run_validate(Document document, const std::string& what, const ValidateOptions& options);

}  // namespace narratoria::command
