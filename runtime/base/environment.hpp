// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

namespace narratoria {

// Replaces or appends `variable`, which is NAME=value, in a list of such.
void set_variable(std::vector<std::string>& environment, const std::string& variable);

}  // namespace narratoria
