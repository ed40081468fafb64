// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared by both JSON readers (rapidjson_reader.cpp, plain_reader.cpp).

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace narratoria::json {

// Returns the first quote, backslash or control character from `at` on. Sets `high` if a byte above
// 0x7F comes before it.
inline const char* skip_plain(const char* at, bool& high) {
#if defined(__SSE2__)
    const __m128i quote = _mm_set1_epi8('"');
    const __m128i backslash = _mm_set1_epi8('\\');
    const __m128i last_control = _mm_set1_epi8(0x1F);
    for (;; at += 16) {
        // May read beyond the end of the text: kPadding allows it.
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
        const __m128i control = _mm_cmpeq_epi8(_mm_max_epu8(bytes, last_control), last_control);
        const __m128i stop = _mm_or_si128(
            _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash)), control);
        const auto stops = static_cast<unsigned>(_mm_movemask_epi8(stop));
        const auto highs = static_cast<unsigned>(_mm_movemask_epi8(bytes));
        if (stops != 0) {
            const auto length = static_cast<unsigned>(__builtin_ctz(stops));
            high |= (highs & ((1u << length) - 1u)) != 0;
            return at + length;
        }
        high |= highs != 0;
    }
#else
    for (;; ++at) {
        const auto byte = static_cast<unsigned char>(*at);
        if (byte < 0x20 || byte == '"' || byte == '\\') return at;
        high |= byte >= 0x80;
    }
#endif
}

}  // namespace narratoria::json
