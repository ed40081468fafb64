// SPDX-License-Identifier: Apache-2.0
#include "narrator_llm/narrative_reader.hpp"

#include <algorithm>
#include <utility>

#include "narrator_llm/answer.hpp"

namespace narratoria::llm {
namespace {

constexpr std::string_view kWhiteSpace = " \t\r\n";
// Models may write this many bytes before the object, such as a fence or a sentence.
constexpr std::size_t kLongestBeginning = 80;

bool is_high(std::uint32_t code) { return code >= 0xD800 && code < 0xDC00; }
bool is_low(std::uint32_t code) { return code >= 0xDC00 && code < 0xE000; }

}  // namespace

std::string NarrativeReader::feed(std::string_view bytes) {
    std::string out;
    if (kind_ == Kind::Unknown) {
        beginning_ += bytes;
        const std::string_view rest = without_thoughts(beginning_);
        std::size_t begin = find_object(rest);
        kind_ = Kind::Object;
        if (begin == std::string_view::npos) {
            begin = std::min(rest.find_first_not_of(kWhiteSpace), rest.size());
            kind_ = rest.size() - begin < kLongestBeginning ? Kind::Unknown : Kind::Prose;
        }
        if (kind_ == Kind::Unknown) return out;
        const std::string first(rest.substr(begin));
        beginning_.clear();
        return feed(first);
    }
    if (kind_ == Kind::Prose) {
        out = bytes;
    } else {
        for (const char byte : bytes) take(byte, out);
    }
    text_ += out;
    return out;
}

void NarrativeReader::take(char byte, std::string& out) {
    if (in_string_) return take_in_string(byte, out);
    switch (byte) {
        case '{':
        case '[': ++depth_; break;
        case '}':
        case ']':
            if (depth_ > 0) --depth_;
            break;
        case ':':
            if (depth_ == 1) is_key_ = false;
            break;
        case ',':
            if (depth_ == 1) is_key_ = true;
            break;
        case '"':
            in_string_ = true;
            if (depth_ == 1 && is_key_) name_.clear();
            is_narrative_ = depth_ == 1 && !is_key_ && name_ == "narrative" && !is_done_;
            break;
        default: break;
    }
}

void NarrativeReader::take_in_string(char byte, std::string& out) {
    if (digits_ > 0) return take_hexadecimal(byte, out);
    if (std::exchange(is_escape_, false)) {
        switch (byte) {
            case 'n': return put('\n', out);
            case 't': return put('\t', out);
            case 'r': return put('\r', out);
            case 'b': return put('\b', out);
            case 'f': return put('\f', out);
            case 'u':
                digits_ = 4;
                code_ = 0;
                return;
            default: return put(byte, out);
        }
    }
    if (byte == '\\') {
        is_escape_ = true;
    } else if (byte == '"') {
        in_string_ = false;
        if (std::exchange(is_narrative_, false)) is_done_ = true;
    } else {
        put(byte, out);
    }
}

void NarrativeReader::take_hexadecimal(char byte, std::string& out) {
    std::uint32_t digit = 0;
    if (byte >= '0' && byte <= '9') digit = static_cast<std::uint32_t>(byte - '0');
    else if (byte >= 'a' && byte <= 'f') digit = static_cast<std::uint32_t>(byte - 'a') + 10;
    else if (byte >= 'A' && byte <= 'F') digit = static_cast<std::uint32_t>(byte - 'A') + 10;
    code_ = code_ << 4 | digit;
    if (--digits_ > 0) return;
    if (is_high(code_)) {
        high_ = code_;
        return;
    }
    const std::uint32_t high = std::exchange(high_, 0);
    if (is_low(code_) && high != 0) {
        return put_code(0x10000 + ((high - 0xD800) << 10) + (code_ - 0xDC00), out);
    }
    put_code(is_low(code_) ? 0xFFFD : code_, out);
}

void NarrativeReader::put_code(std::uint32_t code, std::string& out) {
    const auto byte = [&](std::uint32_t value) { put(static_cast<char>(value), out); };
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

void NarrativeReader::put(char byte, std::string& out) {
    if (is_narrative_) out += byte;
    else if (depth_ == 1 && is_key_) name_ += byte;
}

}  // namespace narratoria::llm
