// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a terminal shows the story: for the console plugin and for `narratoria play`.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "style.hpp"

namespace narratoria::terminal {

// A pleasant line length, however wide the terminal is.
inline constexpr std::size_t kStoryWidth = 76;

// A narrative, wrapped to `width` columns and indented, without the empty lines at its ends.
std::vector<std::string> narrative_lines(std::string_view text, std::size_t width);

// Numbered from 1.
std::vector<std::string> choice_lines(const std::vector<std::string>& choices, const Style& style);

}  // namespace narratoria::terminal
