// SPDX-License-Identifier: Apache-2.0
// narratoria plugin: the group, and what is in it.
#include "commands/plugin_command.hpp"

namespace narratoria::command {

void add_plugin(CLI::App& application, Action& action) {
    CLI::App* plugin =
        application.add_subcommand("plugin", "Find plugins, check them, and write them");
    plugin->require_subcommand(1);
    plugin->footer(
        "Example:\n"
        "  narratoria plugin new paper-rain --kind ui-handler");
    add_plugin_check(*plugin, action);
    add_plugin_list(*plugin, action);
    add_plugin_new(*plugin, action);
}

}  // namespace narratoria::command
