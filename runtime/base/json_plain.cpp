// SPDX-License-Identifier: Apache-2.0
// Reads plain JSON, which nearly every line of a tool is: strings without escapes, numbers without
// an exponent. It knows no errors: at whatever it does not know it gives up, and RapidJSON reads
// the text from its beginning and says what is wrong with it, if anything is. So it may refuse what
// it likes, but must take nothing that RapidJSON refuses, and must leave the same tape: the fuzz
// target "tape" compares them.
//
// The place in the text and the end of the tape stay in registers, which RapidJSON's reader, made
// of functions that share a stream in memory, cannot have.

#include <cstring>

#include "base/json.hpp"
#include "base/json_text.hpp"
#include "base/utf8.hpp"

namespace narratoria::json {
namespace {

// What is read twice when RapidJSON must be asked after all is no more than this.
constexpr size_t kLongest = 1024 * 1024;

// Whatever its digits are, such a number is far from the ends of a double's range.
constexpr size_t kLongestNumber = 64;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

const char* skip_white_space(const char* at) {
    if (static_cast<unsigned char>(*at) > ' ') [[likely]]
        return at;
    while (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t') ++at;
    return at;
}

// The end of a number, or nothing.
const char* skip_number(const char* at) {
    const char* const begin = at;
    if (*at == '-') ++at;
    if (!is_digit(*at)) return nullptr;
    if (*at++ != '0') {
        while (is_digit(*at)) ++at;
    }
    if (*at == '.') {
        if (!is_digit(*++at)) return nullptr;
        while (is_digit(*at)) ++at;
    }
    const bool has_exponent = *at == 'e' || *at == 'E';
    return has_exponent || static_cast<size_t>(at - begin) > kLongestNumber ? nullptr : at;
}

// The closing quote of a string with characters beyond ASCII, or nothing.
[[gnu::noinline]] const char* skip_string_of_utf8(const char* at) {
    bool high = false;
    const char* const end = skip_plain(at, high);
    const bool valid = *end == '"' && utf8::is_valid({at, static_cast<size_t>(end - at)});
    return valid ? end : nullptr;
}

// The closing quote of a string whose content begins at `at`, or nothing.
const char* skip_string(const char* const begin) {
    const char* at = begin;
#if defined(__SSE2__)
    const __m128i quote = _mm_set1_epi8('"');
    const __m128i backslash = _mm_set1_epi8('\\');
    const __m128i space = _mm_set1_epi8(' ');
    for (;; at += 16) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
        // With a sign, what is over 0x7F is less than a space as well.
        const __m128i stop = _mm_or_si128(
            _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash)),
            _mm_cmplt_epi8(bytes, space));
        if (const auto stops = static_cast<unsigned>(_mm_movemask_epi8(stop))) {
            at += __builtin_ctz(stops);
            break;
        }
    }
#else
    while (*at != '"' && *at != '\\' && static_cast<signed char>(*at) >= ' ') ++at;
#endif
    if (*at == '"') [[likely]]
        return at;
    return static_cast<signed char>(*at) < 0 ? skip_string_of_utf8(begin) : nullptr;
}

}  // namespace

bool Tape::read_plain(const uint32_t most) {
    if (text_.size() > kLongest) return false;
    const char* at = text_.data();
    Node* next = nodes_;
    Node* end = nodes_ + capacity_;
    uint32_t open[kDepthOfOwn];
    uint32_t depth = 0;

    auto append = [&](const char* begin, size_t size, Type type) {
        if (next == end) [[unlikely]] {
            const auto used = next - nodes_;
            grow();
            next = nodes_ + used;
            end = nodes_ + capacity_;
        }
        *next++ = {begin, static_cast<uint32_t>(size), type, 0, 0};
    };
    auto append_string = [&] {
        const char* const close = skip_string(at);
        if (close == nullptr) return false;
        append(at, static_cast<size_t>(close - at), Type::String);
        at = close + 1;
        return true;
    };
    auto append_key = [&] {
        if (*at != '"') return false;
        ++at;
        if (!append_string()) return false;
        at = skip_white_space(at);
        if (*at != ':') return false;
        at = skip_white_space(at + 1);
        return true;
    };
    auto append_word = [&](const char* word, size_t size, Type type) {
        if (std::memcmp(at, word, size) != 0) return false;
        append(at, size, type);
        at += size;
        return true;
    };
    auto close = [&](Type type) {
        nodes_[open[--depth]].size = static_cast<uint32_t>(next - nodes_);
        append(++at, 0, type);
    };

    at = skip_white_space(at);
    for (;;) {
        // A value begins here.
        switch (*at) {
            case '"':
                ++at;
                if (!append_string()) return false;
                break;
            case '{':
            case '[': {
                if (depth == most) return false;
                const Type type = *at == '{' ? Type::Object : Type::Array;
                open[depth++] = static_cast<uint32_t>(next - nodes_);
                append(at, 0, type);
                at = skip_white_space(at + 1);
                if (*at == (type == Type::Object ? '}' : ']')) {
                    close(type);
                    break;
                }
                if (type == Type::Object && !append_key()) return false;
                continue;
            }
            case 't':
                if (!append_word("true", 4, Type::True)) return false;
                break;
            case 'f':
                if (!append_word("false", 5, Type::False)) return false;
                break;
            case 'n':
                if (!append_word("null", 4, Type::Null)) return false;
                break;
            default: {
                const char* const behind = skip_number(at);
                if (behind == nullptr) return false;
                append(at, static_cast<size_t>(behind - at), Type::Number);
                at = behind;
            }
        }
        // A value has ended, and with it perhaps what it stood in.
        for (;;) {
            at = skip_white_space(at);
            if (depth == 0) {
                if (at != text_.data() + text_.size()) return false;
                count_ = static_cast<uint32_t>(next - nodes_);
                return true;
            }
            const Type type = nodes_[open[depth - 1]].type;
            if (*at == ',') {
                at = skip_white_space(at + 1);
                if (type == Type::Object && !append_key()) return false;
                break;
            }
            if (*at != (type == Type::Object ? '}' : ']')) return false;
            close(type);
        }
    }
}

}  // namespace narratoria::json
