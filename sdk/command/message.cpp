// SPDX-License-Identifier: Apache-2.0
#include "message.hpp"

#include <fmt/format.h>
#include <string.h>
#include <unistd.h>

#include <cstdlib>

#include "display.hpp"
#include "file.hpp"

namespace narratoria::command {
namespace {

std::string& command_name() {
    static std::string name = "narratoria";
    return name;
}

bool environment_says(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0';
}

}  // namespace

void set_command_name(std::string_view name) {
    command_name() = fmt::format("narratoria {}", name);
}

void complain(std::string_view message) {
    // Standard error that does not take the message is nothing that could be told to anyone.
    const Style style = Style::for_descriptor(STDERR_FILENO);
    write_all(STDERR_FILENO, fmt::format("{} {}\n", style.bold(command_name() + ":"), message));
}

void complain_lines(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) {
        text += line;
        text += '\n';
    }
    write_all(STDERR_FILENO, text);
}

Style Style::for_descriptor(int descriptor) {
    Style style;
    style.coloured_ = is_capable_terminal(descriptor) && !environment_says("NO_COLOR");
    return style;
}

std::string Style::wear(std::string_view code, std::string_view text) const {
    if (!coloured_ || text.empty()) return std::string(text);
    return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

bool is_capable_terminal(int descriptor) {
    if (isatty(descriptor) == 0) return false;
    const char* terminal = std::getenv("TERM");
    return terminal != nullptr && *terminal != '\0' && std::string_view(terminal) != "dumb";
}

std::string reason(int error_number) {
    const char* text = strerrordesc_np(error_number);
    return text != nullptr ? std::string(text) : fmt::format("error {}", error_number);
}

std::string shown_path(std::string_view path) {
    return path == "-" ? std::string("standard input") : printable(path);
}

}  // namespace narratoria::command
