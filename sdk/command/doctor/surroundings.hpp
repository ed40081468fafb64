// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the machine has beside its kernel: folders, libraries and programs that tools need.

#include <vector>

#include "doctor/machine_check.hpp"

namespace narratoria::command::doctor {

std::vector<MachineCheck> find_surroundings();

}  // namespace narratoria::command::doctor
