// SPDX-License-Identifier: Apache-2.0
#include "script/error.hpp"

#include <algorithm>
#include <string_view>

#include "base/bytes/utf8.hpp"
#include "base/json/error.hpp"

namespace narratoria::script {

namespace {

// The characters shown before and after the column of a longer line.
constexpr size_t kShownBefore = 80;
constexpr size_t kShownAfter = 40;

bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

// Returns advice that the message at this position does not give; may be empty.
std::string_view hint_at(std::string_view line, size_t at) {
    std::string_view rest = line.substr(at);
    if (rest.starts_with("\xEF\xBB\xBF")) {
        return "a byte order mark, which editors do not show; save the script as UTF-8 without one";
    }
    // The lexer reads an exponent as a name after a number.
    if (at == 0 || !is_digit(line[at - 1]) || !(rest.starts_with('e') || rest.starts_with('E'))) {
        return {};
    }
    rest.remove_prefix(1);
    if (rest.starts_with('+') || rest.starts_with('-')) rest.remove_prefix(1);
    if (rest.empty() || !is_digit(rest.front())) return {};
    return "numbers have no exponent; write all digits";
}

}  // namespace

void place(Error& error, std::string_view source, size_t byte) {
    const json::Position position = json::position_of(source, byte);
    error.line = static_cast<uint32_t>(position.line);
    error.column = static_cast<uint32_t>(position.column);
}

std::string describe(const Error& error, std::string_view source) {
    std::string out = error.name + ": " + error.message + "\n";
    if (error.line == 0) return out;
    for (uint32_t line = 1; line < error.line; ++line) {
        source.remove_prefix(std::min(source.find('\n'), source.size() - 1) + 1);
    }
    source = source.substr(0, source.find('\n'));
    if (source.ends_with('\r')) source.remove_suffix(1);
    size_t at = 0;
    for (uint32_t column = 1; column < error.column && at < source.size(); ++column) {
        at = utf8::next(source, at);
    }
    size_t begin = at > kShownBefore ? at - kShownBefore : 0;
    while (begin < at && utf8::continues(source[begin])) ++begin;
    size_t end = std::min(source.size(), at + kShownAfter);
    while (end < source.size() && utf8::continues(source[end])) ++end;

    const std::string number = std::to_string(error.line);
    out += "  " + number + " | ";
    out += begin > 0 ? "…" : "";
    // A carriage return does not end a line here, but would move the terminal's cursor.
    std::string shown = utf8::repaired(source.substr(begin, end - begin));
    std::replace(shown.begin(), shown.end(), '\r', ' ');
    out += shown;
    out += end < source.size() ? "…\n" : "\n";
    out += "  " + std::string(number.size(), ' ') + " | ";
    if (begin > 0) out += ' ';
    // Keep tabs, so that the caret is below its character.
    for (size_t i = begin; i < at; ++i) {
        if (!utf8::continues(source[i])) out += source[i] == '\t' ? '\t' : ' ';
    }
    out += "^\n";
    const std::string_view hint = hint_at(source, at);
    if (!hint.empty()) out.append("  hint: ").append(hint).append("\n");
    return out;
}

}  // namespace narratoria::script
