// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is wrong with a JSON text, and where.

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
    size_t byte = 0;  // where in the text, from 0
    std::string message;
};

// The rule an error breaks, for example "json-utf8".
const char* rule_of(ParseError::Kind kind);

// Where a byte is for a person, counted from 1.
struct Position {
    size_t line;
    size_t column;
};
Position position_of(std::string_view text, size_t byte);

}  // namespace narratoria::json
