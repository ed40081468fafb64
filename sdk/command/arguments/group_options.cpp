// SPDX-License-Identifier: Apache-2.0
#include "arguments/group_options.hpp"

namespace narratoria::command {

void GroupOptions::add_to(CLI::App& command) {
    CLI::Option* folder =
        command
            .add_option("--cgroup", cgroup,
                        "A cgroup2 folder that is yours; each tool gets a group of its own in it")
            ->type_name("FOLDER");
    command
        .add_option("--max-processes", processes,
                    "Processes and threads of a tool with all that it starts (needs --cgroup)")
        ->check(CLI::Range(1u, NAR_NONE - 1).description(""))
        ->needs(folder)
        ->type_name("N");
    command
        .add_option("--max-resident", resident_bytes,
                    "Memory of a tool with all that it starts, from 1048576 (needs --cgroup)")
        ->check(CLI::Range(std::uint64_t{1} << 20, UINT64_MAX - 1).description(""))
        ->needs(folder)
        ->type_name("BYTES");
}

void GroupOptions::apply_to(EngineOptions& options) const {
    options.cgroup = cgroup;
    if (processes == 0 && resident_bytes == 0) return;
    if (!options.limits) options.limits.emplace();
    options.limits->processes = processes;
    options.limits->resident_bytes = resident_bytes;
}

}  // namespace narratoria::command
