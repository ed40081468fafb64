// SPDX-License-Identifier: Apache-2.0
// narratoria plugin: the group of subcommands for who writes or uses plugins.

#include "plugin_command.hpp"

namespace narratoria::command {

void add_plugin(CLI::App& application, Action& action) {
    CLI::App* plugin = application.add_subcommand("plugin", "Check plugins");
    plugin->require_subcommand(1);
    plugin->footer("Example:\n  narratoria plugin check build/librain.so");
    add_plugin_check(*plugin, action);
}

}  // namespace narratoria::command
