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

// The chain of subcommands that was named: "tool run".
std::string named_command(const CLI::App& application) {
    std::string name;
    const CLI::App* at = &application;
    for (;;) {
        const auto below = at->get_subcommands();
        if (below.empty()) return name;
        at = below.front();
        if (!name.empty()) name += ' ';
        name += at->get_name();
    }
}

// What CLI11 does not say: which word was taken for a command, and which commands there are.
std::string misnamed_command(const CLI::App& application, int argument_count, char** arguments) {
    const CLI::App* group = &application;
    int next = 1;
    while (!group->get_subcommands().empty()) {
        group = group->get_subcommands().front();
        ++next;
    }
    const auto commands = group->get_subcommands([](const CLI::App*) { return true; });
    if (commands.empty() || next >= argument_count || arguments[next][0] == '-') return {};
    std::string known;
    for (const CLI::App* command : commands) {
        known += (known.empty() ? "" : ", ") + command->get_name();
    }
    return fmt::format("there is no command \"{}\"; there are: {}", printable(arguments[next]),
                       known);
}

int print(const std::string& text) {
    return write_all(STDOUT_FILENO, text) ? kExitSuccess : kExitFailure;
}

int run_command(int argument_count, char** arguments) {
    CLI::App application(
        "Narratoria: tool-driven interactive narrative.\n"
        "A prompt becomes a plan, a plan runs tools, tools tell the story on.",
        "narratoria");
    application.set_version_flag("--version", std::string("narratoria ") + nar_library_version());
    application.require_subcommand(1);
    application.footer(
        "Each command has its own help:   narratoria run --help\n"
        "Example:\n"
        "  narratoria play --story examples/stories/torch \"I light the torch\"");

    Action action;
    add_play(application, action);
    add_serve(application, action);
    add_run(application, action);
    CLI::App* tool = application.add_subcommand("tool", "Run or check one tool");
    tool->require_subcommand(1);
    tool->footer(
        "Example:\n"
        "  narratoria tool run tools/torch-lighter --input '{\"action\": \"light_torch\"}'");
    add_tool_run(*tool, action);
    add_tool_check(*tool, action);
    add_validate(application, action);
    add_plugin(application, action);

    try {
        application.parse(argument_count, arguments);
    } catch (const CLI::CallForHelp&) {
        const CLI::App* named = &application;
        std::string before;
        while (!named->get_subcommands().empty()) {
            before += (before.empty() ? "" : " ") + named->get_name();
            named = named->get_subcommands().front();
        }
        return print(named->help(before));
    } catch (const CLI::CallForVersion& version) {
        return print(std::string(version.what()) + "\n");
    } catch (const CLI::ParseError& error) {
        const std::string name = named_command(application);
        if (!name.empty()) set_command_name(name);
        std::string what = misnamed_command(application, argument_count, arguments);
        if (what.empty()) what = printable(error.what());
        complain(
            fmt::format("{}. See: narratoria {}{}--help", what, name, name.empty() ? "" : " "));
        return kExitRefused;
    }
    set_command_name(named_command(application));
    return action();
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
    } catch (const Failed& failed) {
        complain(failed.what());
        return kExitFailure;
    } catch (const narratoria::Error& error) {
        complain(printable(error.message()));
        const bool ours = error.status() == NAR_INTERNAL || error.status() == NAR_OUT_OF_MEMORY;
        return ours ? kExitFailure : kExitRefused;
    } catch (const std::bad_alloc&) {
        complain("memory ran out");
        return kExitFailure;
    } catch (const std::exception& error) {
        complain(fmt::format("a fault of the command itself, please report it: {}",
                             printable(error.what())));
        return kExitFailure;
    }
}
