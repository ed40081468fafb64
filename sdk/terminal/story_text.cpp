// SPDX-License-Identifier: Apache-2.0
#include "story_text.hpp"

#include <fmt/core.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <utility>

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

std::vector<std::string> ending_lines(std::string_view name, std::size_t width,
                                      const Style& style) {
    if (name.empty()) return {};
    std::vector<std::string> lines = narrative_lines(fmt::format("— {} —", name), width);
    for (std::string& line : lines) line = "  " + style.title(line.substr(2));
    return lines;
}

std::size_t story_width(int file) {
    winsize window{};
    if (ioctl(file, TIOCGWINSZ, &window) != 0 || window.ws_col < 2) return kStoryWidth;
    return std::min<std::size_t>(window.ws_col - 1, kStoryWidth);
}

std::vector<std::string> item_lines(std::string_view sign, std::size_t sign_columns,
                                    std::string_view text, std::size_t width) {
    constexpr std::size_t kMargin = 4;
    constexpr std::size_t kLeast = 8;  // columns of text
    const std::size_t indent = kMargin + sign_columns + 1;
    std::vector<std::string> lines = wrap(text, std::max(width, indent + kLeast) - indent);
    for (std::string& line : lines) line.insert(0, indent, ' ');
    lines.front().replace(0, indent, fmt::format("    {} ", sign));
    return lines;
}

std::vector<std::string> choice_lines(const std::vector<std::string>& choices, std::size_t width,
                                      const Style& style) {
    std::vector<std::string> lines;
    std::size_t count = 0;
    for (const std::string& choice : choices) {
        const std::string number = fmt::format("{}.", ++count);
        for (std::string& line : item_lines(style.cyan(number), number.size(), choice, width)) {
            lines.push_back(std::move(line));
        }
    }
    return lines;
}

}  // namespace narratoria::terminal
