// SPDX-License-Identifier: Apache-2.0
#include "style.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>

namespace narratoria::terminal {
namespace {

bool environment_says(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0';
}

}  // namespace

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

}  // namespace narratoria::terminal
