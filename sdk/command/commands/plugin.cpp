// SPDX-License-Identifier: Apache-2.0
// narratoria plugin: the group, and what is in it.
#include "commands/plugin_command.hpp"

namespace narratoria::command {

void add_plugin(Command application) {
    Command plugin = application.group("plugin", "List, check and create plugins");
    plugin.footer(
        "Example:\n"
        "  narratoria plugin new paper-rain --kind ui-handler");
    add_plugin_check(plugin);
    add_plugin_list(plugin);
    add_plugin_new(plugin);
}

}  // namespace narratoria::command
