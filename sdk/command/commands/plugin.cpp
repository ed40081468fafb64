// SPDX-License-Identifier: Apache-2.0
// narratoria plugin: the group, and the program that does `narratoria plugin check`.

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
    // For the help of the group; start_plugin_check_if_asked comes before it.
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
    complain(program + ": cannot be started: " + reason(error) +
             "; it is installed with the command: install Narratoria again");
    ::_exit(kExitFailure);
}

}  // namespace narratoria::command
