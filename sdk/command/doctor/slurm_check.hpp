// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "doctor/machine_check.hpp"

namespace narratoria::command::doctor {

// Checks what the runner of slurm: tools needs, by asking the cluster: its programs, the controller,
// the nodes, a job, and a folder that the nodes share with this machine.
std::vector<MachineCheck> check_slurm();

}  // namespace narratoria::command::doctor
