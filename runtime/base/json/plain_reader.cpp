// SPDX-License-Identifier: Apache-2.0
// Reads plain JSON: strings without escapes, numbers without an exponent. Nearly every line of a
// tool is plain. This reader gives up on other JSON and reports no errors; RapidJSON then parses
// the text from the start and reports the error, if there is one. So this reader may reject any
// text, but must not accept a text that RapidJSON rejects, and must produce the same tape. The fuzz
// target "tape" compares both.
//
// It is faster because the positions in the text and on the tape stay in registers. The functions
// of RapidJSON's reader share a stream in memory.

#include <cstring>

#include "base/bytes/utf8.hpp"
#include "base/json/string_scan.hpp"
#include "base/json/tape.hpp"

namespace narratoria::json {
namespace {

// Bounds the text that is parsed twice when this reader gives up.
constexpr size_t kLongest = 1024 * 1024;

// Numbers up to this length cannot reach the limits of a double.
constexpr size_t kLongestNumber = 64;

// Initial capacity of a fresh tape.
constexpr uint32_t kFirstNodes = 32;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

const char* skip_white_space(const char* at) {
    if (static_cast<unsigned char>(*at) > ' ') [[likely]]
        return at;
    while (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t') ++at;
    return at;
}

// Returns the end of a number, or NULL.
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

bool stand(const char* at, const char (&two)[3]) { return std::memcmp(at, two, 2) == 0; }

// Returns the closing quote of a string with non-ASCII characters, or NULL.
[[gnu::noinline]] const char* skip_string_of_utf8(const char* at) {
    bool high = false;
    const char* const end = skip_plain(at, high);
    const bool valid = *end == '"' && utf8::is_valid({at, static_cast<size_t>(end - at)});
    return valid ? end : nullptr;
}

// Finds the end of the plain ASCII prefix of a string: a quote, a backslash, a control character or
// a non-ASCII byte.
class StringScan {
public:
#if defined(__SSE2__)
    const char* operator()(const char* at) const {
        for (;; at += 16) {
            const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
            // In the signed comparison, bytes above 0x7F are less than a space as well.
            const __m128i stop = _mm_or_si128(
                _mm_or_si128(_mm_cmpeq_epi8(bytes, quote_), _mm_cmpeq_epi8(bytes, backslash_)),
                _mm_cmpgt_epi8(space_, bytes));
            if (const auto stops = static_cast<unsigned>(_mm_movemask_epi8(stop))) {
                return at + static_cast<unsigned>(__builtin_ctz(stops));
            }
        }
    }

private:
    __m128i quote_ = _mm_set1_epi8('"');
    __m128i backslash_ = _mm_set1_epi8('\\');
    __m128i space_ = _mm_set1_epi8(' ');
#else
    const char* operator()(const char* at) const {
        while (*at != '"' && *at != '\\' && static_cast<signed char>(*at) >= ' ') ++at;
        return at;
    }
#endif
};

}  // namespace

bool Tape::read_plain(const uint32_t most) {
    if (text_.size() > kLongest) return false;
    reserve(kFirstNodes);
    const StringScan scan;
    const char* at = text_.data();
    Node* next = nodes_;
    Node* room = nodes_ + capacity_;
    uint32_t open[kDepthOfOwn];
    uint32_t depth = 0;
    bool in_object = false;
    const char* behind;

    auto append = [&](const char* begin, const char* end, Type type) {
        if (next == room) [[unlikely]] {
            const auto used = static_cast<uint32_t>(next - nodes_);
            grow(used + 1);
            next = nodes_ + used;
            room = nodes_ + capacity_;
        }
        *next++ = {begin, static_cast<uint32_t>(end - begin), type, 0, 0};
    };

    at = skip_white_space(at);
    goto value;

key:
    if (*at++ != '"') return false;
key_after_quote:
    behind = scan(at);
    if (!stand(behind, "\":")) [[unlikely]] {
        if (static_cast<signed char>(*behind) < 0) behind = skip_string_of_utf8(at);
        if (behind == nullptr || *behind != '"') return false;
        append(at, behind, Type::String);
        at = skip_white_space(behind + 1);
        if (*at++ != ':') return false;
    } else {
        append(at, behind, Type::String);
        at = behind + 2;
    }
    at = skip_white_space(at);

value:
    switch (*at) {
        case '"':
            behind = scan(++at);
            if (*behind != '"') [[unlikely]] {
                if (static_cast<signed char>(*behind) < 0) behind = skip_string_of_utf8(at);
                if (behind == nullptr || *behind != '"') return false;
            }
            append(at, behind, Type::String);
            at = behind + 1;
            break;
        case '{':
        case '[':
            if (depth == most) return false;
            in_object = *at == '{';
            open[depth++] = static_cast<uint32_t>(next - nodes_);
            append(at, at, in_object ? Type::Object : Type::Array);
            at = skip_white_space(at + 1);
            if (*at == (in_object ? '}' : ']')) goto close;
            if (in_object) goto key;
            goto value;
        case 't':
            if (std::memcmp(at, "true", 4) != 0) return false;
            append(at, at + 4, Type::True);
            at += 4;
            break;
        case 'f':
            if (std::memcmp(at, "false", 5) != 0) return false;
            append(at, at + 5, Type::False);
            at += 5;
            break;
        case 'n':
            if (std::memcmp(at, "null", 4) != 0) return false;
            append(at, at + 4, Type::Null);
            at += 4;
            break;
        default:
            behind = skip_number(at);
            if (behind == nullptr) return false;
            append(at, behind, Type::Number);
            at = behind;
    }

after_value:
    if (in_object && stand(at, ",\"")) {
        at += 2;
        goto key_after_quote;
    }
    at = skip_white_space(at);
    if (depth == 0) {
        if (at != text_.data() + text_.size()) return false;
        count_ = static_cast<uint32_t>(next - nodes_);
        return true;
    }
    if (*at == ',') {
        at = skip_white_space(at + 1);
        if (in_object) goto key;
        goto value;
    }
    if (*at != (in_object ? '}' : ']')) return false;
close:
    nodes_[open[--depth]].size = static_cast<uint32_t>(next - nodes_);
    ++at;
    append(at, at, in_object ? Type::Object : Type::Array);
    in_object = depth > 0 && nodes_[open[depth - 1]].type == Type::Object;
    goto after_value;
}

}  // namespace narratoria::json
