// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace narratoria::script {

// The reason why a script was refused or failed. The names are part of the language:
// docs/nuwa-script.md.
struct Error {
    std::string name;     // "ParserError"; empty: no error
    std::string message;  // includes the position if it is a LexerError or ParserError
    uint32_t line = 0;    // from 1; 0 if the error has no position in the source
    uint32_t column = 0;  // from 1, in characters
    // The script ends too early: more text after it may complete it.
    bool is_incomplete = false;
    std::string hint{};  // what to do, if the message does not say it; may be empty

    explicit operator bool() const { return !name.empty(); }
};

// Sets line and column to the position of `byte` in `source`.
void place(Error& error, std::string_view source, size_t byte);

// The messages of errors that the machine and a check report.
std::string undefined_variable(std::string_view name);
std::string missing_tool(std::string_view name);
// Empty if there is a function of this name with so many arguments.
std::string function_fault(std::string_view name, uint32_t arguments);

// Returns what to do about an error, if its message does not say it; may be empty.
std::string hint_of(const Error& error, std::string_view source);

// Returns a human-readable text: name and message, the line of the source with a caret below the
// column, and for some errors a line "  hint: …".
std::string describe(const Error& error, std::string_view source);

}  // namespace narratoria::script
