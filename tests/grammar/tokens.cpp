// SPDX-License-Identifier: Apache-2.0
// tokens TABLE…: prints a line of JSON for each case of the tables of tests/conformance/script,
// {"name", "script", "end", "tokens": [[class, begin, end], …]}, with positions in bytes. "end" is
// where the lexer stopped: after the script, or at an error.

#include <iostream>
#include <string>

#include "base/json/writer.hpp"
#include "script/lexer.hpp"
#include "unit/case_tables.hpp"

using namespace narratoria;
using script::TokenKind;

namespace {

std::string_view class_of(TokenKind kind) {
    if (kind == TokenKind::Identifier) return "identifier";
    if (kind == TokenKind::Number) return "number";
    if (kind == TokenKind::String) return "string";
    if (kind >= TokenKind::Let && kind <= TokenKind::Null) return "keyword";
    if (kind >= TokenKind::OpenParenthesis && kind <= TokenKind::Dot) return "punctuation";
    return "operator";
}

std::string tokens_of(const test::ScriptCase& one) {
    script::Symbols symbols;
    script::Lexer lexer(one.script, symbols);
    std::string tokens;
    script::Token token;
    for (lexer.next(token); token.kind != TokenKind::End && token.kind != TokenKind::Invalid;
         lexer.next(token)) {
        tokens += (tokens.empty() ? "[\"" : ",[\"") + std::string(class_of(token.kind)) + "\"," +
                  std::to_string(token.begin) + "," + std::to_string(token.end) + "]";
    }
    std::string out;
    json::ObjectWriter(out)
        .string("name", one.name)
        .string("script", one.script)
        .number("end", token.begin)
        .raw("tokens", "[" + tokens + "]")
        .end();
    return out;
}

}  // namespace

int main(int count, char** tables) {
    for (int i = 1; i < count; ++i) {
        for (const test::ScriptCase& one : test::script_cases(tables[i])) {
            std::cout << tokens_of(one) << '\n';
        }
    }
    return std::cout.flush() ? 0 : 1;
}
