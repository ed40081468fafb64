// SPDX-License-Identifier: Apache-2.0
#pragma once
// Text on its way to a person: made harmless, measured, cut and wrapped. Everything is UTF-8,
// whatever the locale says.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace narratoria::terminal {

// One line that cannot move the cursor, change colours or hide itself: control characters,
// bidirectional overrides and bytes that are no UTF-8 are written as escapes (\n, \x1B, \u{202E}).
std::string printable(std::string_view text);

// Printable lines: as above, but line breaks and tabs stay.
std::string printable_lines(std::string_view text);

// Columns that printable text takes on a terminal.
std::size_t columns(std::string_view text);

// At most `width` columns of it; what was cut off shows as "…".
std::string cut(std::string_view text, std::size_t width);

// Printable lines of at most `width` columns, broken between words where there are any; a line
// break in the text starts a new one.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

// "0.4 s", "12.3 s", "3 min 20 s"
std::string duration(double seconds);

// "1 fault", "2 faults"
std::string counted(std::size_t count, std::string_view noun);

}  // namespace narratoria::terminal
