// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the machine has beside its kernel: folders, libraries and programs that tools need.

#include <vector>

#include "doctor/finding.hpp"

namespace narratoria::command {

std::vector<Finding> find_surroundings();

}  // namespace narratoria::command
