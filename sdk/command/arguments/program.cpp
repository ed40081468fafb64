// SPDX-License-Identifier: Apache-2.0
#include "arguments/program.hpp"

#include <fmt/core.h>

#include <exception>
#include <new>
#include <string>

#include "display.hpp"
#include "io/file.hpp"
#include "io/interruption.hpp"
#include "io/message.hpp"
#include "narratoria/base.h"
#include "narratoria/status.hpp"

namespace narratoria::command {
namespace {

int print(const std::string& text) {
    require_standard_output("the text");
    print_output(text, "the text");
    return kExitSuccess;
}

int run_command_line(int argument_count, char** arguments, void (*declare)(Command root)) {
    CommandLine command_line(
        "Narratoria: tool-driven interactive narrative.\nA prompt becomes a plan, the plan runs "
        "tools, and the tools continue the story.",
        "narratoria", std::string("narratoria ") + nar_library_version());
    declare(command_line.root());
    const Parsed parsed = command_line.parse(argument_count, arguments);
    if (parsed.kind == Parsed::Kind::Print) return print(parsed.text);
    if (!parsed.command.empty()) set_command_name(parsed.command);
    if (parsed.kind == Parsed::Kind::UsageError) {
        complain(fmt::format("{}{} See: narratoria {}{}--help", parsed.text,
                             parsed.text.ends_with('?') ? "" : ".", parsed.command,
                             parsed.command.empty() ? "" : " "));
        return kExitRefused;
    }
    return parsed.action();
}

}  // namespace

int run_program(int argument_count, char** arguments, void (*declare)(Command root)) {
    try {
        reserve_standard_streams();
        interruption::install();
        return run_command_line(argument_count, arguments, declare);
    } catch (const Refused& refused) {
        complain_lines(refused.lines());
        complain(refused.what());
        return kExitRefused;
    } catch (const ReaderGone&) {
        return kExitFailure;
    } catch (const Failed& failed) {
        complain(failed.what());
        return kExitFailure;
    } catch (const Error& error) {
        complain(printable(error.message()));
        const bool ours = error.status() == NAR_INTERNAL || error.status() == NAR_OUT_OF_MEMORY;
        return ours ? kExitFailure : kExitRefused;
    } catch (const std::bad_alloc&) {
        complain("out of memory");
        return kExitFailure;
    } catch (const std::exception& error) {
        complain(fmt::format("internal error: {}; please report it", printable(error.what())));
        return kExitFailure;
    }
}

}  // namespace narratoria::command
