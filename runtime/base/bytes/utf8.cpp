// SPDX-License-Identifier: Apache-2.0
#include "base/bytes/utf8.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <utility>

namespace narratoria::utf8 {
namespace {

// The length of the UTF-8 sequence at `at`; 0 if it is invalid.
size_t sequence_length(const unsigned char* at, size_t left) {
    const unsigned lead = at[0];
    auto continues = [&](size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
        return i < left && at[i] >= low && at[i] <= high;
    };
    if (lead < 0x80) return 1;
    if (lead >= 0xC2 && lead <= 0xDF) return continues(1) ? 2 : 0;
    if (lead >= 0xE0 && lead <= 0xEF) {
        const unsigned low = lead == 0xE0 ? 0xA0 : 0x80;
        const unsigned high = lead == 0xED ? 0x9F : 0xBF;
        return continues(1, low, high) && continues(2) ? 3 : 0;
    }
    if (lead >= 0xF0 && lead <= 0xF4) {
        const unsigned low = lead == 0xF0 ? 0x90 : 0x80;
        const unsigned high = lead == 0xF4 ? 0x8F : 0xBF;
        return continues(1, low, high) && continues(2) && continues(3) ? 4 : 0;
    }
    return 0;
}

}  // namespace

size_t valid_prefix(std::string_view text) {
    const auto* data = reinterpret_cast<const unsigned char*>(text.data());
    size_t i = 0;
    while (i < text.size()) {
        while (i + 8 <= text.size()) {
            uint64_t word;
            std::memcpy(&word, data + i, 8);
            if (word & 0x8080808080808080u) break;
            i += 8;
        }
        if (i == text.size()) break;
        const size_t length = sequence_length(data + i, text.size() - i);
        if (length == 0) return i;
        i += length;
    }
    return i;
}

size_t whole_prefix(std::string_view text) {
    for (size_t length = 1; length <= std::min<size_t>(text.size(), 3); ++length) {
        const auto first = static_cast<unsigned char>(text[text.size() - length]);
        if (continues(text[text.size() - length])) continue;
        const size_t needed = first < 0xC2 || first > 0xF4 ? 1
                              : first < 0xE0               ? 2
                              : first < 0xF0               ? 3
                                                           : 4;
        return needed > length ? text.size() - length : text.size();
    }
    return text.size();
}

std::string repaired(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const size_t valid = valid_prefix(text);
        out.append(text.substr(0, valid));
        text.remove_prefix(valid);
        if (text.empty()) break;
        out += "\xEF\xBF\xBD";
        text.remove_prefix(1);
    }
    return out;
}

bool is_blank(std::string_view text) {
    // Unicode's White_Space, Default_Ignorable_Code_Point and controls, and the blank Braille
    // pattern.
    static constexpr std::pair<uint32_t, uint32_t> kInvisible[] = {
        {0x0000, 0x0020},   {0x007F, 0x00A0},  {0x00AD, 0x00AD}, {0x034F, 0x034F},
        {0x061C, 0x061C},   {0x115F, 0x1160},  {0x1680, 0x1680}, {0x17B4, 0x17B5},
        {0x180B, 0x180F},   {0x2000, 0x200F},  {0x2028, 0x202F}, {0x205F, 0x206F},
        {0x2800, 0x2800},   {0x3000, 0x3000},  {0x3164, 0x3164}, {0xFE00, 0xFE0F},
        {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0},  {0xFFF0, 0xFFF8}, {0x1BCA0, 0x1BCA3},
        {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF}};
    for (size_t at = 0; at < text.size();) {
        const uint32_t code = decode(text, at);
        const bool is_invisible = std::any_of(
            std::begin(kInvisible), std::end(kInvisible),
            [&](const auto& range) { return code >= range.first && code <= range.second; });
        if (!is_invisible) return false;
    }
    return true;
}

bool is_surrogate(std::string_view text) {
    return text.size() >= 2 && static_cast<unsigned char>(text[0]) == 0xED &&
           static_cast<unsigned char>(text[1]) >= 0xA0 &&
           static_cast<unsigned char>(text[1]) <= 0xBF;
}

void append(std::string& text, uint32_t code) {
    const auto byte = [&](uint32_t value) { text += static_cast<char>(value); };
    if (code < 0x80) {
        byte(code);
    } else if (code < 0x800) {
        byte(0xC0 | code >> 6);
        byte(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
        byte(0xE0 | code >> 12);
        byte(0x80 | (code >> 6 & 0x3F));
        byte(0x80 | (code & 0x3F));
    } else {
        byte(0xF0 | code >> 18);
        byte(0x80 | (code >> 12 & 0x3F));
        byte(0x80 | (code >> 6 & 0x3F));
        byte(0x80 | (code & 0x3F));
    }
}

}  // namespace narratoria::utf8
