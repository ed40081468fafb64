// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace narratoria::script {

// Why a script was refused or failed. The names are part of the language: docs/nuwa-script.md.
struct Error {
    std::string name;     // "ParserError"; empty: no error
    std::string message;  // of a LexerError or ParserError with the position in it
    uint32_t line = 0;    // from 1; 0 if the error has no place in the source
    uint32_t column = 0;  // from 1, in characters
    // The script is right as far as it goes: more text behind it can mend it.
    bool is_incomplete = false;

    explicit operator bool() const { return !name.empty(); }
};

// Sets line and column to the position of `byte` in `source`.
void place(Error& error, std::string_view source, size_t byte);

// The error for people: name and message, then the line of the source with a caret below the column,
// and a line "  hint: …" if there is more to say.
std::string describe(const Error& error, std::string_view source);

}  // namespace narratoria::script
