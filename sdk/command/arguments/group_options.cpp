// SPDX-License-Identifier: Apache-2.0
#include "arguments/group_options.hpp"

#include <algorithm>
#include <limits>
#include <string_view>

namespace narratoria::command {
namespace {

// "--max-resident" for "resident_bytes".
std::string option_name(std::string_view limit) {
    for (const std::string_view unit : {"_bytes", "_seconds", "_ms"}) {
        if (limit.ends_with(unit)) limit.remove_suffix(unit.size());
    }
    constexpr std::string_view kScript = "script_";
    if (limit.starts_with(kScript)) limit.remove_prefix(kScript.size());
    std::string name = "--max-" + std::string(limit);
    std::replace(name.begin(), name.end(), '_', '-');
    return name;
}

std::string from(std::uint64_t least) {
    return least > 1 ? ", at least " + std::to_string(least) : "";
}

}  // namespace

void GroupOptions::add_to(Command command) {
    const Option folder =
        command
            .option("--cgroup", cgroup,
                    "A cgroup2 folder that you own; each tool runs in its own group in it")
            .type_name("FOLDER");
#define NARRATORIA_LIMIT(name, type, least, text)                      \
    command                                                            \
        .option(option_name(#name), limits.name,                       \
                std::string(text) + from(least) + " (needs --cgroup)") \
        .within(least, std::numeric_limits<type>::max() - 1)           \
        .needs(folder)                                                 \
        .type_name(std::string_view(#name).ends_with("_bytes") ? "BYTES" : "N");
    NAR_GROUP_LIMIT_LIST(NARRATORIA_LIMIT)
#undef NARRATORIA_LIMIT
    command
        .option("--sandbox", sandbox,
                "Guarantees that the kernel enforces for every tool: no_network, no_subprocess, "
                "no_filesystem_write, no_filesystem_read, no_env_read, no_env_write, "
                "secrets_allowed=NAME:NAME, or all")
        .type_name("LIST")
        .not_empty();
}

void GroupOptions::apply_to(EngineOptions& options) const {
    options.cgroup = cgroup;
    options.sandbox = sandbox;
#define NARRATORIA_LIMIT(name, type, least, text)      \
    if (limits.name != 0) {                            \
        if (!options.limits) options.limits.emplace(); \
        options.limits->name = limits.name;            \
    }
    NAR_GROUP_LIMIT_LIST(NARRATORIA_LIMIT)
#undef NARRATORIA_LIMIT
}

void ScriptLimits::add_to(Command command) {
#define NARRATORIA_LIMIT(name, type, least, text)                        \
    command.option(option_name(#name), limits.name, text)                \
        .within(least, std::numeric_limits<type>::max())                 \
        .type_name(std::string_view(#name).ends_with("_bytes") ? "BYTES" \
                   : std::string_view(#name).ends_with("_ms")  ? "MS"    \
                                                               : "N");
    NAR_SCRIPT_LIMIT_LIST(NARRATORIA_LIMIT)
#undef NARRATORIA_LIMIT
}

void ScriptLimits::apply_to(EngineOptions& options) const {
#define NARRATORIA_LIMIT(name, type, least, text)      \
    if (limits.name != 0) {                            \
        if (!options.limits) options.limits.emplace(); \
        options.limits->name = limits.name;            \
    }
    NAR_SCRIPT_LIMIT_LIST(NARRATORIA_LIMIT)
#undef NARRATORIA_LIMIT
}

}  // namespace narratoria::command
