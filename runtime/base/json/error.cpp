// SPDX-License-Identifier: Apache-2.0
#include "base/json/error.hpp"

#include <algorithm>

#include "base/bytes/utf8.hpp"

namespace narratoria::json {

const char* rule_of(ParseError::Kind kind) {
    switch (kind) {
        case ParseError::Kind::Syntax: return "json-syntax";
        case ParseError::Kind::Empty: return "json-empty";
        case ParseError::Kind::TrailingContent: return "json-one-value";
        case ParseError::Kind::ByteOrderMark: return "json-no-bom";
        case ParseError::Kind::InvalidUtf8: return "json-utf8";
        case ParseError::Kind::LoneSurrogate: return "json-no-lone-surrogate";
        case ParseError::Kind::TooDeep: return "json-depth";
        case ParseError::Kind::NumberTooBig: return "json-number-range";
        case ParseError::Kind::TooLarge: return "json-size";
    }
    return "json";
}

Position position_of(std::string_view text, size_t byte) {
    Position position{1, 1};
    const std::string_view before = text.substr(0, std::min(byte, text.size()));
    for (const char c : before) {
        if (c == '\n') {
            ++position.line;
            position.column = 1;
        } else if (!utf8::continues(c)) {
            ++position.column;
        }
    }
    return position;
}

}  // namespace narratoria::json
