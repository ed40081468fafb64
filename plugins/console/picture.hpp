// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace narratoria::console {

// A picture as lines of characters in colour, of at most so many columns and rows. Empty when the
// file is none that can be read, or this build has no chafa.
std::vector<std::string> picture_lines(const std::string& path, std::size_t columns,
                                       std::size_t rows);

}  // namespace narratoria::console
