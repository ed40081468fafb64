// SPDX-License-Identifier: Apache-2.0
#pragma once
// Prepares text for people: escapes, measures, cuts and wraps it. All text is UTF-8, in every
// locale.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace narratoria::terminal {

// One line that cannot move the cursor, change colours or hide text: control characters,
// bidirectional overrides and bytes that are not UTF-8 become escapes (\n, \x1B, \u{202E}).
std::string printable(std::string_view text);

// The same, but keeps line breaks and tabs.
std::string printable_lines(std::string_view text);

// The number of terminal columns of printable text.
std::size_t columns(std::string_view text);

// Cuts the text to at most `width` columns, including the "…" that replaces the rest.
std::string cut(std::string_view text, std::size_t width);

// Wraps text into printable lines of at most `width` columns, between words where possible. Keeps
// the line breaks of the text.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

// At most 11 printable lines of a text, and of each line at most 400 columns: a message of another
// program may be long. Shows the beginning and the end.
std::vector<std::string> excerpt(std::string_view text);

// "0.4 s", "12.3 s", "3 min 20 s"
std::string duration(double seconds);

// "1 fault", "2 faults"
std::string counted(std::size_t count, std::string_view noun);

}  // namespace narratoria::terminal
