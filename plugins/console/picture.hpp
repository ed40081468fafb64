// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace narratoria::console {

// Renders an image as lines of coloured characters, at most `columns` wide and `rows` high. Empty
// if the file is not a readable image, or this build has no chafa.
std::vector<std::string> picture_lines(const std::string& path, std::size_t columns,
                                       std::size_t rows);

}  // namespace narratoria::console
