// SPDX-License-Identifier: Apache-2.0
#pragma once
// Errors of JSON texts and their positions.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace narratoria::json {

struct ParseError {
    enum class Kind : uint8_t {
        Syntax,
        Empty,
        TrailingContent,
        ByteOrderMark,
        InvalidUtf8,
        LoneSurrogate,
        TooDeep,
        NumberTooBig,
        TooLarge,
    };
    Kind kind = Kind::Syntax;
    size_t byte = 0;  // offset in the text, from 0
    std::string message;
};

// The id of the violated rule, for example "json-utf8".
const char* rule_of(ParseError::Kind kind);

// A human-readable position; line and column count from 1.
struct Position {
    size_t line;
    size_t column;
};
Position position_of(std::string_view text, size_t byte);

}  // namespace narratoria::json
