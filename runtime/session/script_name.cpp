// SPDX-License-Identifier: Apache-2.0
#include "session/script_name.hpp"

#include <string_view>

#include "base/bytes/utf8.hpp"
#include "script/lexer.hpp"
#include "tool/manifest.hpp"

namespace narratoria::session {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_identifier(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
}

}  // namespace

std::string script_name(const tool::Definition& definition) {
    const bool is_file = definition.origin.kind == tool::Origin::Kind::File;
    std::string out;
    for (const char c : is_file ? tool::stem_of(definition.name) : definition.name) {
        if (is_identifier(c)) out += c;
        else if (!utf8::continues(c)) out += '_';
    }
    if (out.empty() || is_digit(out.front()) || script::is_keyword(out)) out.insert(0, 1, '_');
    return out;
}

}  // namespace narratoria::session
