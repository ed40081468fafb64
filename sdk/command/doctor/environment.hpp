// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks the folders, libraries and programs of the machine that tools need.

#include <vector>

#include "doctor/machine_check.hpp"

namespace narratoria::command::doctor {

std::vector<MachineCheck> check_environment();

}  // namespace narratoria::command::doctor
