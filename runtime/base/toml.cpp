// SPDX-License-Identifier: Apache-2.0
#include "base/toml.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes/utf8.hpp"

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
    if (what.starts_with(kExpectedValue) && at_end) {
        const TomlPlaces places(text);
        const size_t at = places.byte_of(error.source().begin);
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
