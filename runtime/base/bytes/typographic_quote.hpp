// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace narratoria {

// True if UTF-8 text begins with a quotation mark that word processors write in place of a straight
// one: U+2018 to U+201F, or an angle quote.
constexpr bool begins_with_typographic_quote(std::string_view text) {
    return (text.size() > 2 && text.starts_with("\xE2\x80") && text[2] >= '\x98' &&
            text[2] <= '\x9F') ||
           text.starts_with("\xC2\xAB") || text.starts_with("\xC2\xBB");
}

inline constexpr const char* kTypographicQuote =
    "this is not a straight double quote; replace it by \", and turn off smart quotes in the "
    "editor";

}  // namespace narratoria
