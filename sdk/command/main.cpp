// SPDX-License-Identifier: Apache-2.0
// The narratoria command. It is a host like any other: everything it does goes through the SDK.

#include <fmt/core.h>

#include <cerrno>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>

#include "commands/command.hpp"
#include "display.hpp"
#include "io/file.hpp"
#include "io/interruption.hpp"
#include "io/message.hpp"
#include "narratoria/base.h"
#include "narratoria/status.hpp"

namespace {

using namespace narratoria::command;

int print(const std::string& text) {
    require_standard_output("redirect it to a file or a terminal");
    print_output(text, "the text");
    return kExitSuccess;
}

int run_command(int argument_count, char** arguments) {
    CommandLine command_line(
        "Narratoria: tool-driven interactive narrative.\nA prompt becomes a plan, the plan runs "
        "tools, and the tools continue the story.",
        "narratoria", std::string("narratoria ") + nar_library_version());
    Command root = command_line.root();
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
    add_tool_check(tool);
    add_tool_list(tool);
    add_validate(root);
    add_doctor(root);
    add_plugin(root);

    const Parsed parsed = command_line.parse(argument_count, arguments);
    if (parsed.kind == Parsed::Kind::Print) return print(parsed.text);
    if (!parsed.command.empty()) set_command_name(parsed.command);
    if (parsed.kind == Parsed::Kind::Mistake) {
        complain(fmt::format("{}{} See: narratoria {}{}--help", parsed.text,
                             parsed.text.ends_with('?') ? "" : ".", parsed.command,
                             parsed.command.empty() ? "" : " "));
        return kExitRefused;
    }
    return parsed.action();
}

}  // namespace

int main(int argument_count, char** arguments) {
    try {
        hold_standard_streams();
        interruption::install();
        return run_command(argument_count, arguments);
    } catch (const Refused& refused) {
        complain_lines(refused.lines());
        complain(refused.what());
        return kExitRefused;
    } catch (const ReaderGone&) {
        return kExitRefused;
    } catch (const Failed& failed) {
        complain(failed.what());
        return kExitFailure;
    } catch (const narratoria::Error& error) {
        complain(printable(error.message()));
        const bool ours = error.status() == NAR_INTERNAL || error.status() == NAR_OUT_OF_MEMORY;
        return ours ? kExitFailure : kExitRefused;
    } catch (const std::bad_alloc&) {
        complain("out of memory");
        return kExitFailure;
    } catch (const std::exception& error) {
        complain(fmt::format("internal error of the command; please report it: {}",
                             printable(error.what())));
        return kExitFailure;
    }
}
