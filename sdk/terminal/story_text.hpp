// SPDX-License-Identifier: Apache-2.0
#pragma once
// Formats the story for a terminal, for the console plugin and `narratoria play`.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "style.hpp"

namespace narratoria::terminal {

// The maximum line length, even on wider terminals, for readability.
inline constexpr std::size_t kStoryWidth = 76;

// A narrative, wrapped to `width` columns and indented, without leading and trailing empty lines.
std::vector<std::string> narrative_lines(std::string_view text, std::size_t width);

// Numbered from 1.
std::vector<std::string> choice_lines(const std::vector<std::string>& choices, const Style& style);

}  // namespace narratoria::terminal
