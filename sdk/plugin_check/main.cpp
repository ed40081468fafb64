// SPDX-License-Identifier: Apache-2.0
// narratoria-plugin-check: the program that `narratoria plugin check` starts, with the same
// arguments. It is separate because it loads untrusted plugins, which may break its process.

#include "arguments/program.hpp"
#include "plugin_check/command.hpp"

int main(int argument_count, char** arguments) {
    return narratoria::command::run_program(
        argument_count, arguments, [](narratoria::command::Command root) {
            narratoria::command::plugin_check::add_plugin_check(
                root.group("plugin", "List, check and create plugins"));
        });
}
