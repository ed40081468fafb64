// SPDX-License-Identifier: Apache-2.0
#include "base/near_name.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace narratoria {
namespace {

// Longer names are not compared, which bounds the work.
constexpr size_t kMaxLetters = 32;
constexpr size_t kShortName = 5;
constexpr size_t kLongName = 12;
// Shorter beginnings would match too many names.
constexpr size_t kMinBeginning = 5;

struct Letters {
    std::array<char, kMaxLetters> text{};
    size_t size = 0;
};

// Returns the name in lower case, without "_" and "-".
Letters letters_of(std::string_view name) {
    Letters out;
    for (const char c : name) {
        if (c == '_' || c == '-') continue;
        out.text[out.size++] = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    return out;
}

// Optimal string alignment distance.
size_t distance(const Letters& a, const Letters& b) {
    std::array<size_t, kMaxLetters + 1> before_last{}, last{}, current{};
    for (size_t j = 0; j <= b.size; ++j) last[j] = j;
    for (size_t i = 1; i <= a.size; ++i) {
        current[0] = i;
        for (size_t j = 1; j <= b.size; ++j) {
            const bool same = a.text[i - 1] == b.text[j - 1];
            current[j] = std::min({last[j] + 1, current[j - 1] + 1, last[j - 1] + !same});
            if (i > 1 && j > 1 && a.text[i - 1] == b.text[j - 2] &&
                a.text[i - 2] == b.text[j - 1]) {
                current[j] = std::min(current[j], before_last[j - 2] + 1);
            }
        }
        before_last = last;
        last = current;
    }
    return last[b.size];
}

}  // namespace

std::string_view near_name(std::string_view name, std::span<const std::string_view> known) {
    if (name.empty() || name.size() > kMaxLetters) return {};
    const Letters given = letters_of(name);
    std::string_view nearest;
    size_t least = kMaxLetters;
    for (const std::string_view each : known) {
        if (each.size() > kMaxLetters) continue;
        const Letters other = letters_of(each);
        const size_t shorter = std::min(given.size, other.size);
        const size_t most = shorter <= kShortName ? 1 : shorter < kLongName ? 2 : 3;
        const size_t apart =
            given.size > other.size ? given.size - other.size : other.size - given.size;
        const bool begins =
            given.size >= kMinBeginning && given.size < other.size &&
            std::equal(given.text.begin(), given.text.begin() + given.size, other.text.begin());
        size_t far = kMaxLetters;
        if (apart <= most) far = distance(given, other);
        if (far > most) far = begins ? most + 1 : kMaxLetters;
        if (far < least) {
            least = far;
            nearest = each;
        }
    }
    return nearest;
}

std::string ask_for_near_name(std::string_view name, std::span<const std::string_view> known) {
    const std::string_view near = near_name(name, known);
    return near.empty() ? std::string() : "did you mean \"" + std::string(near) + "\"?";
}

}  // namespace narratoria
