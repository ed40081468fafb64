// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a tool's manifest says, in the terms of Slurm and of the shell on the node.

#include <narratoria/plugin.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace narratoria::slurm {

// The options of sbatch for a job, or of srun for a step, which ignores the partition. `resources`:
// InvocationRequest::resources(). `options`: those of the settings, which follow.
std::vector<std::string> options_of(std::string_view resources,
                                    const std::vector<std::string>& options);

// Commands of the shell that set the limits. `limits`: InvocationRequest::limits().
std::string limit_commands(const nar_limits* limits);

}  // namespace narratoria::slurm
