// SPDX-License-Identifier: Apache-2.0
#include "story_text.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "display.hpp"

namespace narratoria::terminal {

std::vector<std::string> narrative_lines(std::string_view text, std::size_t width) {
    text = text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
    if (text.empty()) return {};
    std::vector<std::string> lines = wrap(text, std::max<std::size_t>(width, 12) - 2);
    for (std::string& line : lines) {
        if (!line.empty()) line.insert(0, "  ");
    }
    return lines;
}

std::vector<std::string> choice_lines(const std::vector<std::string>& choices, const Style& style) {
    std::vector<std::string> lines;
    for (const std::string& choice : choices) {
        const std::string number = style.cyan(fmt::format("{}.", lines.size() + 1));
        lines.push_back(fmt::format("    {} {}", number, printable(choice)));
    }
    return lines;
}

}  // namespace narratoria::terminal
