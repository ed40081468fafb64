// SPDX-License-Identifier: Apache-2.0
#include "base/language_tag.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace narratoria {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter_or_digit(char c) { return is_letter(c) || is_digit(c); }

bool has_only(std::string_view text, bool (*is_allowed)(char), size_t least, size_t most) {
    return text.size() >= least && text.size() <= most &&
           std::all_of(text.begin(), text.end(), is_allowed);
}

std::vector<std::string_view> subtags_of(std::string_view tag) {
    std::vector<std::string_view> out;
    for (size_t hyphen = 0; hyphen != std::string_view::npos;) {
        hyphen = tag.find('-');
        out.push_back(tag.substr(0, hyphen));
        tag.remove_prefix(hyphen == std::string_view::npos ? tag.size() : hyphen + 1);
    }
    return out;
}

bool is_variant(std::string_view text) {
    return has_only(text, is_letter_or_digit, 5, 8) ||
           (has_only(text, is_letter_or_digit, 4, 4) && is_digit(text.front()));
}

}  // namespace

bool is_language_tag(std::string_view tag) {
    const std::vector<std::string_view> all = subtags_of(tag);
    auto at = all.begin();
    // Skips up to `most` subtags.
    const auto skip = [&](auto&& is_wanted, size_t most) {
        size_t count = 0;
        for (; count < most && at != all.end() && is_wanted(*at); ++count) ++at;
        return count;
    };
    const auto letters = [](size_t least, size_t most) {
        return [=](std::string_view text) { return has_only(text, is_letter, least, most); };
    };
    const auto letters_or_digits = [](size_t least) {
        return [=](std::string_view text) { return has_only(text, is_letter_or_digit, least, 8); };
    };
    const auto is_private = [](std::string_view text) { return text == "x" || text == "X"; };

    if (!is_private(*at)) {
        if (skip(letters(2, 3), 1) == 1) {
            skip(letters(3, 3), 3);  // extended language
        } else if (skip(letters(4, 8), 1) == 0) {
            return false;
        }
        skip(letters(4, 4), 1);  // script
        const bool has_region = skip(letters(2, 2), 1) == 1;
        if (!has_region) skip([](auto text) { return has_only(text, is_digit, 3, 3); }, 1);
        skip(is_variant, all.size());
        while (at != all.end() && has_only(*at, is_letter_or_digit, 1, 1) && !is_private(*at)) {
            ++at;
            if (skip(letters_or_digits(2), all.size()) == 0) return false;
        }
    }
    if (at != all.end() && is_private(*at)) {
        ++at;
        if (skip(letters_or_digits(1), all.size()) == 0) return false;
    }
    return at == all.end();
}

}  // namespace narratoria
