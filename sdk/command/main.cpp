// SPDX-License-Identifier: Apache-2.0
// The narratoria command. It uses only the public SDK, as any host does.

#include "arguments/program.hpp"
#include "commands/command.hpp"

namespace {

using namespace narratoria::command;

void declare(Command root) {
    root.footer(
        "Each command has its own help:   narratoria run --help\nExample:\n  narratoria play "
        "--story examples/stories/torch \"I light the torch\"");
    add_play(root);
    add_serve(root);
    add_run(root);
    add_script(root);
    Command tool = root.group("tool", "Run, check and list tools");
    tool.footer(
        "Example:\n"
        "  narratoria tool run tools/torch-lighter --input '{\"action\": \"light_torch\"}'");
    add_tool_run(tool);
    tool_check::add_tool_check(tool);
    add_tool_list(tool);
    add_session(root);
    add_replay(root);
    add_story(root);
    add_validate(root);
    add_test(root);
    add_doctor(root);
    add_narrator(root);
    add_plugin(root);
}

}  // namespace

int main(int argument_count, char** arguments) {
    start_plugin_check_if_asked(argument_count, arguments);
    return run_program(argument_count, arguments, declare);
}
