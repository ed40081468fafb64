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

// The name of the story's ending between dashes; nothing without a name.
std::vector<std::string> ending_lines(std::string_view name, std::size_t width, const Style& style);

// The columns of the terminal, at most kStoryWidth; kStoryWidth if `file` is not a terminal.
std::size_t story_width(int file);

// A list item: four spaces, `sign` (which takes `sign_columns`), and `text` next to it, wrapped to
// `width` columns.
std::vector<std::string> item_lines(std::string_view sign, std::size_t sign_columns,
                                    std::string_view text, std::size_t width);

// Numbered from 1, and wrapped to `width` columns.
std::vector<std::string> choice_lines(const std::vector<std::string>& choices, std::size_t width,
                                      const Style& style);

}  // namespace narratoria::terminal
