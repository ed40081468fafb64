// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

namespace narratoria {

// The text as one word of a POSIX shell, for a command that a person is told to run. In quotes where
// it has a character that a shell may treat specially.
inline std::string shell_word(std::string_view text) {
    const bool is_plain = !text.empty() && text.find_first_not_of(
                                               "abcdefghijklmnopqrstuvwxyz"
                                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                               "0123456789/._-+,:@%") == std::string_view::npos;
    if (is_plain) return std::string(text);
    std::string out = "'";
    for (const char c : text) {
        if (c == '\'') out += "'\\''";
        else out += c;
    }
    return out + "'";
}

}  // namespace narratoria
