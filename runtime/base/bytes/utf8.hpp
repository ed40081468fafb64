// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace narratoria::utf8 {

// Length of the longest valid UTF-8 prefix of `text`; text.size() if all of it is valid. Overlong
// forms, surrogates and code points above U+10FFFF are invalid.
size_t valid_prefix(std::string_view text);

inline bool is_valid(std::string_view text) { return valid_prefix(text) == text.size(); }

// Length of the longest prefix of `text` that does not end within a character. The rest, at most
// three bytes, may become valid when more bytes follow.
size_t whole_prefix(std::string_view text);

// Returns `text` with each invalid byte replaced by U+FFFD.
std::string repaired(std::string_view text);

// True for a byte that is not the first of its character.
constexpr bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// Returns the offset of the character after the one at `at`, or text.size(). `at` must be inside
// `text`.
constexpr size_t next(std::string_view text, size_t at) {
    do ++at;
    while (at < text.size() && continues(text[at]));
    return at;
}

// Returns the code point at `at`, and moves `at` to the next one. `text` must be valid UTF-8, and
// `at` inside it.
inline uint32_t decode(std::string_view text, size_t& at) {
    const auto byte = [&](size_t i) {
        return i < text.size() ? static_cast<uint32_t>(static_cast<unsigned char>(text[i])) : 0x80u;
    };
    const uint32_t first = byte(at);
    if (first < 0x80) {
        ++at;
        return first;
    }
    if (first < 0xE0) {
        const uint32_t c = (first & 0x1F) << 6 | (byte(at + 1) & 0x3F);
        at += 2;
        return c;
    }
    if (first < 0xF0) {
        const uint32_t c =
            (first & 0x0F) << 12 | (byte(at + 1) & 0x3F) << 6 | (byte(at + 2) & 0x3F);
        at += 3;
        return c;
    }
    const uint32_t c = (first & 0x07) << 18 | (byte(at + 1) & 0x3F) << 12 |
                       (byte(at + 2) & 0x3F) << 6 | (byte(at + 3) & 0x3F);
    at += 4;
    return c;
}

// At most `most` bytes from the beginning or the end of `text`, without splitting a character.
constexpr std::string_view prefix_of(std::string_view text, size_t most) {
    if (text.size() <= most) return text;
    while (most > 0 && continues(text[most])) --most;
    return text.substr(0, most);
}
constexpr std::string_view suffix_of(std::string_view text, size_t most) {
    if (text.size() <= most) return text;
    text.remove_prefix(text.size() - most);
    while (!text.empty() && continues(text.front())) text.remove_prefix(1);
    return text;
}

// True if nothing of the text is visible: it is empty, or has only white space, control characters
// and characters without a glyph, such as the zero-width space. `text` must be valid UTF-8.
bool is_blank(std::string_view text);

// `code` is a code point other than a surrogate.
void append(std::string& text, uint32_t code);

// True if the invalid bytes at the start of `text` encode a surrogate (ED A0..BF xx).
bool is_surrogate(std::string_view text);

}  // namespace narratoria::utf8
