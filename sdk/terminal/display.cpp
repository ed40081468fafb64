// SPDX-License-Identifier: Apache-2.0
#include "display.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "narratoria/tool.hpp"
#include "width_table.hpp"

namespace narratoria::terminal {
namespace {

constexpr char32_t kNoCharacter = 0xFFFFFFFF;

// Removes the first character of `text` and returns it, or kNoCharacter for an invalid byte.
char32_t take(std::string_view& text) {
    const auto step = tool::json::utf8_step(text, 0);
    if (!step.well_formed) {
        text.remove_prefix(1);
        return kNoCharacter;
    }
    const auto byte = [&](std::size_t index) { return static_cast<unsigned char>(text[index]); };
    // Except for ASCII, the number of leading 1 bits of the first byte is the character's length.
    char32_t character = step.length == 1 ? byte(0) : byte(0) & (0x7Fu >> step.length);
    for (std::size_t index = 1; index < step.length; ++index) {
        character = (character << 6) | (byte(index) & 0x3Fu);
    }
    text.remove_prefix(step.length);
    return character;
}

template <std::size_t Count>
bool contains(const CharacterRange (&ranges)[Count], char32_t character) {
    const auto* after = std::upper_bound(
        std::begin(ranges), std::end(ranges), character,
        [](char32_t wanted, const CharacterRange& range) { return wanted < range.first; });
    return after != std::begin(ranges) && character <= std::prev(after)->last;
}

std::size_t columns_of(char32_t character) {
    if (character < 0x300) return 1;
    if (contains(kNoColumn, character)) return 0;
    return contains(kTwoColumns, character) ? 2 : 1;
}

// True for characters that change the display of the following text, which could falsify a message.
bool misleads(char32_t character) {
    return character < 0x20 || (character >= 0x7F && character <= 0x9F) ||
           (character >= 0x202A && character <= 0x202E) ||
           (character >= 0x2066 && character <= 0x2069) || character == 0x200E ||
           character == 0x200F || character == 0x061C || character == 0x2028 ||
           character == 0x2029 || character == 0xFEFF;
}

void append_printable(std::string& out, std::string_view text) {
    while (!text.empty()) {
        const std::string_view rest = text;
        const char32_t character = take(text);
        if (character == kNoCharacter) {
            out += fmt::format("\\x{:02X}", static_cast<unsigned char>(rest.front()));
        } else if (!misleads(character)) {
            out.append(rest.substr(0, rest.size() - text.size()));
        } else if (character == '\n') {
            out += "\\n";
        } else if (character == '\t') {
            out += "\\t";
        } else if (character == '\r') {
            out += "\\r";
        } else if (character < 0x80) {
            out += fmt::format("\\x{:02X}", static_cast<unsigned>(character));
        } else {
            out += fmt::format("\\u{{{:04X}}}", static_cast<unsigned>(character));
        }
    }
}

}  // namespace

std::string printable(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    append_printable(out, text);
    return out;
}

std::string printable_lines(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const std::size_t end = std::min(text.find_first_of("\n\t"), text.size());
        append_printable(out, text.substr(0, end));
        if (end < text.size()) out += text[end];
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
}

std::size_t columns(std::string_view text) {
    std::size_t sum = 0;
    while (!text.empty()) sum += columns_of(take(text));
    return sum;
}

std::string cut(std::string_view text, std::size_t width) {
    if (width == 0) return {};
    std::size_t used = 0;
    std::size_t fitting = 0;  // bytes that fit and leave a column for the ellipsis
    std::string_view rest = text;
    while (!rest.empty()) {
        const std::size_t wanted = columns_of(take(rest));
        if (used + wanted > width) return std::string(text.substr(0, fitting)) + "…";
        used += wanted;
        if (used < width) fitting = text.size() - rest.size();
    }
    return std::string(text);
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
    width = std::max<std::size_t>(width, 1);
    std::vector<std::string> lines;
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
    std::size_t begin = 0;
    while (begin <= text.size()) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        std::string_view paragraph = text.substr(begin, end - begin);
        if (!paragraph.empty() && paragraph.back() == '\r') paragraph.remove_suffix(1);
        begin = end + 1;

        std::string line;
        std::size_t used = 0;
        std::size_t at = 0;
        while (at < paragraph.size()) {
            const std::size_t word_begin = paragraph.find_first_not_of(" \t", at);
            if (word_begin == std::string_view::npos) break;
            const std::size_t word_end =
                std::min(paragraph.find_first_of(" \t", word_begin), paragraph.size());
            const std::string word = printable(paragraph.substr(word_begin, word_end - word_begin));
            at = word_end;
            const std::size_t wanted = columns(word);
            if (used > 0 && used + 1 + wanted > width) {
                lines.push_back(std::move(line));
                line.clear();
                used = 0;
            }
            if (used > 0) {
                line += ' ';
                ++used;
            }
            // A word longer than a line breaks where the line is full.
            std::string_view left = word;
            while (!left.empty()) {
                const std::string_view before = left;
                const std::size_t needed = columns_of(take(left));
                if (used > 0 && used + needed > width) {
                    lines.push_back(std::move(line));
                    line.clear();
                    used = 0;
                }
                line.append(before.substr(0, before.size() - left.size()));
                used += needed;
            }
        }
        lines.push_back(std::move(line));
        if (end == text.size()) break;
    }
    return lines;
}

std::vector<std::string> excerpt(std::string_view text) {
    constexpr std::size_t kShown = 5;  // at the beginning, and at the end
    constexpr std::size_t kColumns = 400;
    std::vector<std::string> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        lines.push_back(cut(printable(text.substr(0, end)), kColumns));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    if (lines.size() > 2 * kShown + 1) {
        const std::size_t hidden = lines.size() - 2 * kShown;
        const auto first = lines.begin() + kShown;
        *first = fmt::format("… {} more lines …", hidden);
        lines.erase(first + 1, first + static_cast<std::ptrdiff_t>(hidden));
    }
    return lines;
}

std::string duration(double seconds) {
    if (seconds < 0) seconds = 0;
    if (seconds < 10) return fmt::format("{:.2f} s", seconds);
    if (seconds < 60) return fmt::format("{:.1f} s", seconds);
    const auto whole = static_cast<long long>(seconds);
    return fmt::format("{} min {} s", whole / 60, whole % 60);
}

std::string counted(std::size_t count, std::string_view noun) {
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace narratoria::terminal
