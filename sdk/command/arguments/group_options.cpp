// SPDX-License-Identifier: Apache-2.0
#include "arguments/group_options.hpp"

namespace narratoria::command {

void GroupOptions::add_to(Command command) {
    const Option folder =
        command
            .option("--cgroup", cgroup,
                    "A cgroup2 folder that is yours; each tool gets a group of its own in it")
            .type_name("FOLDER");
    command
        .option("--max-processes", processes,
                "Processes and threads of a tool with all that it starts (needs --cgroup)")
        .within(1, NAR_NONE - 1)
        .needs(folder)
        .type_name("N");
    command
        .option("--max-resident", resident_bytes,
                "Memory of a tool with all that it starts, from 1048576 (needs --cgroup)")
        .within(std::uint64_t{1} << 20, UINT64_MAX - 1)
        .needs(folder)
        .type_name("BYTES");
}

void GroupOptions::apply_to(EngineOptions& options) const {
    options.cgroup = cgroup;
    if (processes == 0 && resident_bytes == 0) return;
    if (!options.limits) options.limits.emplace();
    options.limits->processes = processes;
    options.limits->resident_bytes = resident_bytes;
}

}  // namespace narratoria::command
