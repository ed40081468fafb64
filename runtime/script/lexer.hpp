// SPDX-License-Identifier: Apache-2.0
#pragma once
// Turns the source of a script into tokens.

#include <cstdint>
#include <string>
#include <string_view>

#include "script/error.hpp"
#include "script/symbols.hpp"

namespace narratoria::script {

enum class TokenKind : uint8_t {
    End,
    Invalid,  // error() has the reason
    Identifier,
    Number,
    String,
    // Keywords.
    Let,
    Call,
    If,
    Then,
    Else,
    EndKeyword,
    For,
    In,
    Do,
    And,
    Or,
    Not,
    True,
    False,
    Null,
    // Punctuation.
    OpenParenthesis,
    CloseParenthesis,
    OpenBracket,
    CloseBracket,
    OpenBrace,
    CloseBrace,
    Comma,
    Colon,
    Dot,
    Assign,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
};

struct Token {
    TokenKind kind = TokenKind::End;
    uint32_t begin = 0;  // bytes of the source
    uint32_t end = 0;
    uint32_t symbol = 0;  // Identifier, String
    double number = 0;    // Number
};

class Lexer {
public:
    // A zero byte must follow `source`, which must outlive the lexer and the symbols.
    Lexer(std::string_view source, Symbols& symbols);

    // Reads the next token. Do not call it again after Invalid.
    void next(Token& token);

    const Error& error() const { return error_; }

private:
    void read_string(Token& token);
    void read_escaped_string(Token& token, size_t from);
    bool read_escape(std::string& out, size_t& at);
    bool read_unicode(uint32_t& unit, size_t at) const;
    void read_number(Token& token);
    void fail(Token& token, size_t at, std::string message);
    void fail_at_character(Token& token, size_t at);

    std::string_view source_;
    Symbols& symbols_;
    size_t at_ = 0;
    size_t valid_;  // bytes of valid UTF-8 at the beginning
    Error error_;
};

// True for a reserved word of the language.
bool is_keyword(std::string_view word);

// Returns the token for a message: 'THEN', '12', the end of the script.
std::string describe(const Token& token, std::string_view source);

}  // namespace narratoria::script
