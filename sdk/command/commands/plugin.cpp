// SPDX-License-Identifier: Apache-2.0
// narratoria plugin: the group, and the start of the program for `narratoria plugin check`.

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "commands/plugin_command.hpp"
#include "io/message.hpp"

namespace narratoria::command {

void add_plugin(Command application) {
    Command plugin = application.group("plugin", "List, check and create plugins");
    plugin.footer(
        "Example:\n"
        "  narratoria plugin new paper-rain --kind ui-handler");
    // Only for the help: start_plugin_check_if_asked handles the command before parsing.
    plugin.subcommand("check", kPluginCheckDescription);
    add_plugin_list(plugin);
    add_plugin_new(plugin);
}

void start_plugin_check_if_asked(int argument_count, char** arguments) {
    const auto is = [&](int index, std::string_view word) {
        return index < argument_count && word == arguments[index];
    };
    if (!is(1, "plugin") || !is(2, "check")) return;
    std::error_code none;
    const std::filesystem::path command = std::filesystem::read_symlink("/proc/self/exe", none);
    const std::string program =
        (command.parent_path() / NARRATORIA_LIBEXEC_FROM_BIN / "narratoria/narratoria-plugin-check")
            .lexically_normal();
    ::execv(program.c_str(), arguments);
    const int error = errno;
    set_command_name("plugin check");
    complain("cannot start " + program + ": " + reason(error) +
             "; it is part of Narratoria: install Narratoria again");
    ::_exit(kExitFailure);
}

}  // namespace narratoria::command
