// SPDX-License-Identifier: Apache-2.0
// tokens FILE…: for each file a line of JSON, {"file", "end", "tokens": [[class, begin, end], …]}, with
// the tokens of the lexer in bytes. "end" is where the lexer stopped: behind the file, or at an error.

#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "base/json/writer.hpp"
#include "script/lexer.hpp"

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

std::string tokens_of(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    const std::string source{std::istreambuf_iterator<char>(stream), {}};
    script::Symbols symbols;
    script::Lexer lexer(source, symbols);
    std::string tokens;
    script::Token token;
    for (lexer.next(token); token.kind != TokenKind::End && token.kind != TokenKind::Invalid;
         lexer.next(token)) {
        tokens += (tokens.empty() ? "[\"" : ",[\"") + std::string(class_of(token.kind)) + "\"," +
                  std::to_string(token.begin) + "," + std::to_string(token.end) + "]";
    }
    std::string out;
    json::ObjectWriter(out)
        .string("file", file)
        .number("end", token.begin)
        .raw("tokens", "[" + tokens + "]")
        .end();
    return out;
}

}  // namespace

int main(int count, char** files) {
    for (int i = 1; i < count; ++i) std::cout << tokens_of(files[i]) << '\n';
    return std::cout.flush() ? 0 : 1;
}
