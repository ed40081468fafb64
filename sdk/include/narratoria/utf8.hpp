// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cuts UTF-8 texts between characters.

#include "narratoria/exceptions.hpp"

#include <cstddef>
#include <string_view>

namespace narratoria::detail {

// True for a byte that is not the first of its character.
constexpr bool continues_character(char byte) noexcept {
    return (static_cast<unsigned char>(byte) & 0xC0u) == 0x80u;
}

// At most `most` bytes from the beginning of `text`, without splitting a character.
constexpr std::string_view prefix_of(std::string_view text, std::size_t most) noexcept {
    if (text.size() <= most) return text;
    while (most > 0 && continues_character(text[most])) --most;
    return {text.data(), most};
}

// At most `most` bytes from the end of `text`, without splitting a character.
constexpr std::string_view suffix_of(std::string_view text, std::size_t most) noexcept {
    if (text.size() <= most) return text;
    text.remove_prefix(text.size() - most);
    while (!text.empty() && continues_character(text.front())) text.remove_prefix(1);
    return text;
}

}  // namespace narratoria::detail
