// SPDX-License-Identifier: Apache-2.0
#include "asset/media_type.hpp"

#include <cstddef>

namespace narratoria::asset {
namespace {

bool is_letter_or_digit(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// RFC 6838 §4.2: a name begins with a letter or digit and has at most 127 characters.
bool take_name(std::string_view& text) {
    if (text.empty() || !is_letter_or_digit(text.front())) return false;
    size_t length = 0;
    while (length < text.size() &&
           (is_letter_or_digit(text[length]) ||
            std::string_view("!#$&-^_.+").find(text[length]) != std::string_view::npos)) {
        ++length;
    }
    text.remove_prefix(length);
    return length <= 127;
}

bool take_token(std::string_view& text) {
    size_t length = 0;
    while (length < text.size() &&
           (is_letter_or_digit(text[length]) ||
            std::string_view("!#$%&'*+.^_`|~-").find(text[length]) != std::string_view::npos)) {
        ++length;
    }
    text.remove_prefix(length);
    return length > 0;
}

bool take_quoted(std::string_view& text) {
    for (size_t i = 1; i < text.size(); ++i) {
        if (text[i] == '"') {
            text.remove_prefix(i + 1);
            return true;
        }
        if (text[i] == '\\' && ++i == text.size()) return false;
        const auto character = static_cast<unsigned char>(text[i]);
        if ((character < 0x20 && character != '\t') || character >= 0x7F) return false;
    }
    return false;
}

void skip_space(std::string_view& text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
}

}  // namespace

bool is_media_type(std::string_view text) {
    if (!take_name(text) || text.empty() || text.front() != '/') return false;
    text.remove_prefix(1);
    if (!take_name(text)) return false;
    for (;;) {
        if (text.empty()) return true;
        skip_space(text);
        if (text.empty() || text.front() != ';') return false;
        text.remove_prefix(1);
        skip_space(text);
        if (!take_token(text) || text.empty() || text.front() != '=') return false;
        text.remove_prefix(1);
        const bool quoted = !text.empty() && text.front() == '"';
        if (!(quoted ? take_quoted(text) : take_token(text))) return false;
    }
}

}  // namespace narratoria::asset
