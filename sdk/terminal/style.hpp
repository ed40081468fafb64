// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

namespace narratoria::terminal {

// Colours text, or leaves it unchanged without a terminal, with NO_COLOR, or with TERM=dumb.
class Style {
public:
    static Style for_descriptor(int descriptor);
    Style() = default;

    bool coloured() const noexcept { return coloured_; }
    std::string bold(std::string_view text) const { return wear("1", text); }
    std::string dim(std::string_view text) const { return wear("2", text); }
    std::string red(std::string_view text) const { return wear("31", text); }
    std::string green(std::string_view text) const { return wear("32", text); }
    std::string yellow(std::string_view text) const { return wear("33", text); }
    std::string cyan(std::string_view text) const { return wear("36", text); }
    std::string title(std::string_view text) const { return wear("1;35", text); }

private:
    std::string wear(std::string_view code, std::string_view text) const;
    bool coloured_ = false;
};

// True for a terminal that supports cursor movement (TERM is set and not "dumb").
bool is_capable_terminal(int descriptor);

}  // namespace narratoria::terminal
