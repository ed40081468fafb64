// SPDX-License-Identifier: Apache-2.0
#include "base/toml.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes/typographic_quote.hpp"
#include "base/bytes/utf8.hpp"
#include "base/json/writer.hpp"

namespace narratoria {

std::optional<size_t> find_too_deep_toml(std::string_view text) {
    constexpr uint32_t kDeepest = 128;
    std::vector<uint32_t> outer;  // the dots before each open bracket
    uint32_t dots = 0;
    auto starts_with = [&](size_t at, std::string_view what) {
        return at < text.size() && text.substr(at, what.size()) == what;
    };
    for (size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        if (c == '"' || c == '\'') {
            const bool escapes = c == '"';
            const std::string three(3, c);
            const bool many_lines = starts_with(at, three);
            at += many_lines ? 3 : 1;
            while (at < text.size() &&
                   !(many_lines ? starts_with(at, three) : text[at] == c || text[at] == '\n')) {
                at += escapes && text[at] == '\\' ? 2 : 1;
            }
            if (many_lines) {
                // A multi-line string may end with up to two quotes of its content.
                at += 2;
                while (starts_with(at + 1, std::string_view(three).substr(2))) ++at;
            }
        } else if (c == '#') {
            at = std::min(text.find('\n', at), text.size()) - 1;
        } else if (c == '[' || c == '{') {
            outer.push_back(dots);
            if (outer.size() + dots > kDeepest) return at;
        } else if (c == ']' || c == '}') {
            if (outer.empty()) return std::nullopt;
            dots = outer.back();
            outer.pop_back();
        } else if (c == ',' && !outer.empty()) {
            dots = outer.back();
        } else if (c == '\n' && outer.empty()) {
            dots = 0;
        } else if (c == '.' && outer.size() + ++dots > kDeepest) {
            return at;
        }
    }
    return std::nullopt;
}

TomlPlaces::TomlPlaces(std::string_view text) : text_(text) {
    // toml++ does not count a byte order mark as a column.
    line_starts_.push_back(text.starts_with("\xEF\xBB\xBF") ? 3 : 0);
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\n') line_starts_.push_back(i + 1);
    }
}

namespace {

constexpr std::string_view kWords[] = {
    "expected 'true'", "expected 'false'",          "expected 'inf'",
    "expected 'nan'",  "expected value-terminator", "could not determine value type"};

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           static_cast<unsigned char>(c) >= 0x80;
}

// Returns what is wrong with the quotes of a text at or around the offset; empty if it is something
// else. `what` is the parser's message.
std::string quote_fault(std::string_view text, size_t at, std::string_view what) {
    if (what.find("control characters other than TAB") != std::string_view::npos &&
        at < text.size() && (text[at] == '\n' || text[at] == '\r')) {
        return "the text in this line has no closing quote; a text with line breaks needs three "
               "quotes (\"\"\") around it";
    }
    // A text without quotes may begin like one of these words.
    const bool is_word = std::any_of(std::begin(kWords), std::end(kWords),
                                     [&](std::string_view each) { return what.starts_with(each); });
    if (!is_word) return {};
    while (at > 0 && at <= text.size() && is_letter(text[at - 1])) --at;
    const std::string_view rest = text.substr(std::min(at, text.size()));
    const size_t before =
        at == 0 ? std::string_view::npos : text.find_last_not_of(" \t\r\n", at - 1);
    if (rest.empty() || !is_letter(rest.front()) || before == std::string_view::npos ||
        std::string_view("=,[").find(text[before]) == std::string_view::npos) {
        return {};
    }
    if (begins_with_typographic_quote(rest)) return kTypographicQuote;
    const std::string_view line = text.substr(0, at).substr(text.substr(0, at).rfind('\n') + 1);
    const bool is_inside = text[before] != '=' || line.find('{') != std::string_view::npos;
    std::string_view value =
        rest.substr(0, rest.find_first_of(is_inside ? ",]}#\"\r\n" : "#\"\r\n"));
    value = value.substr(0, value.find_last_not_of(" \t") + 1);
    for (const std::string_view word : {"true", "false"}) {
        if (std::equal(value.begin(), value.end(), word.begin(), word.end(),
                       [](char a, char b) { return (a | 0x20) == b; })) {
            return "write " + std::string(word) + " in small letters";
        }
    }
    constexpr size_t kMostShown = 60;
    // The parser has not read the rest of the line, which may hold any bytes.
    return value.size() > kMostShown || !utf8::is_valid(value)
               ? "a text must be in double quotes"
               : "a text must be in double quotes: " + json::quoted(value);
}

}  // namespace

std::string describe_toml_error(std::string_view text, const toml::parse_error& error) {
    constexpr std::string_view kPrefix = "Error while parsing ";
    std::string_view rest = error.description();
    std::string out = "the file is not valid TOML: ";
    if (!rest.starts_with(kPrefix)) return out + std::string(rest);
    rest.remove_prefix(kPrefix.size());
    if (rest.ends_with("encountered end-of-file")) {
        return out + "the file ends in the middle of a value";
    }
    constexpr std::string_view kExpectedValue = "expected value, saw ";
    const size_t colon = rest.find(": ");
    if (colon == std::string_view::npos) return out + std::string(rest);
    const std::string_view what = rest.substr(colon + 2);
    const std::string_view saw = what.substr(std::min(what.rfind("saw ") + 4, what.size()));
    const bool at_end = saw.starts_with("'\\") || saw.starts_with("end-of-file");
    const size_t at = TomlPlaces(text).byte_of(error.source().begin);
    if (const std::string fault = quote_fault(text, at, what); !fault.empty()) return out + fault;
    if (what.starts_with(kExpectedValue) && at_end) {
        const size_t begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
        std::string_view before = text.substr(begin, at - begin);
        before = before.substr(0, before.find_last_not_of(" \t\r\n") + 1);
        return "a value is missing after \"" + std::string(before) + "\"";
    }
    out += std::string(what);
    if (at_end) {
        out.erase(out.size() - saw.size());
        out.erase(out.rfind("saw "));
        out += saw.starts_with("end-of-file") ? "found the end of the file"
                                              : "found the end of the line";
    }
    return out;
}

size_t TomlPlaces::byte_of(toml::source_position at) const {
    const size_t line = std::max<size_t>(at.line, 1);
    size_t byte = line_starts_[std::min(line, line_starts_.size()) - 1];
    for (size_t column = 1; column < at.column && byte < text_.size(); ++column) {
        byte = utf8::next(text_, byte);
    }
    return byte;
}

}  // namespace narratoria
