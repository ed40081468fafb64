// SPDX-License-Identifier: Apache-2.0
#include "io/message.hpp"

#include <fmt/core.h>
#include <string.h>
#include <unistd.h>

#include "display.hpp"
#include "story_text.hpp"

namespace narratoria::command {
namespace {

std::string& command_name() {
    static std::string name = "narratoria";
    return name;
}

}  // namespace

void set_command_name(std::string_view name) {
    command_name() = fmt::format("narratoria {}", name);
}

void complain(std::string_view message) {
    // A failure to write to standard error cannot be reported.
    const Style style = Style::for_descriptor(STDERR_FILENO);
    const std::string name = command_name() + ":";
    std::string text = style.bold(name);
    if (is_capable_terminal(STDERR_FILENO)) {
        // The terminal itself would break lines within words.
        std::string lines;
        for (const std::string& line :
             wrap(fmt::format("{} {}", name, message), story_width(STDERR_FILENO))) {
            lines += line + '\n';
        }
        text += lines.substr(name.size());
    } else {
        text += fmt::format(" {}\n", message);
    }
    write_all(STDERR_FILENO, text);
}

void complain_lines(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) {
        text += line;
        text += '\n';
    }
    write_all(STDERR_FILENO, text);
}

std::string reason(int error_number) {
    const char* text = strerrordesc_np(error_number);
    return text != nullptr ? std::string(text) : fmt::format("error {}", error_number);
}

std::string display_path(std::string_view path) {
    return path == "-" ? std::string("standard input") : printable(path);
}

std::string shell_word(std::string_view text) {
    constexpr std::string_view kPlain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+,:@%";
    if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) {
        return std::string(text);
    }
    std::string word = "'";
    for (const char letter : text) {
        if (letter == '\'') word += "'\\''";
        else word += letter;
    }
    return printable(word + "'");
}

}  // namespace narratoria::command
