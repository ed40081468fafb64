// SPDX-License-Identifier: Apache-2.0
#include "tool/schema/decimal.hpp"

#include <charconv>
#include <cmath>

namespace narratoria::tool {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr int kDigits = 19;
constexpr int64_t kFarExponent = 1'000'000'000;

double double_of(std::string_view text) {
    double value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

int digit_count(uint64_t value) {
    int count = 0;
    for (; value != 0; value /= 10) ++count;
    return count;
}

// `power` is at most 19, so the result fits.
Wide scaled(uint64_t value, int64_t power) {
    Wide out = value;
    for (; power > 0; --power) out *= 10;
    return out;
}

uint64_t power_of_ten_modulo(int64_t power, uint64_t modulus) {
    Wide base = 10 % modulus;
    Wide out = 1 % modulus;
    for (; power > 0; power >>= 1) {
        if ((power & 1) != 0) out = out * base % modulus;
        base = base * base % modulus;
    }
    return static_cast<uint64_t>(out);
}

}  // namespace

Decimal::Decimal(std::string_view text) : text_(text) {
    size_t at = 0;
    if (at < text.size() && text[at] == '-') {
        negative_ = true;
        ++at;
    }
    int kept = 0;
    bool in_fraction = false;
    int64_t place = 0;  // the exponent of the last digit read, without the exponent part
    int64_t last = 0;   // the place of the last nonzero digit
    int64_t dropped = 0;
    for (; at < text.size(); ++at) {
        const char c = text[at];
        if (c == '.') {
            in_fraction = true;
            continue;
        }
        if (c < '0' || c > '9') break;
        if (in_fraction) --place;
        const auto digit = static_cast<uint64_t>(c - '0');
        // An integer digit moves the earlier digits one place up.
        if (!in_fraction) ++last;
        if (digit != 0) last = place;
        if (kept < kDigits) {
            digits_ = digits_ * 10 + digit;
            if (digits_ != 0) ++kept;
        } else {
            if (digit != 0) exact_ = false;
            ++dropped;
        }
    }
    int64_t power = 0;
    if (at < text.size()) {  // e or E
        ++at;
        const bool down = at < text.size() && text[at] == '-';
        if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
        for (; at < text.size() && power < kFarExponent; ++at)
            power = power * 10 + (text[at] - '0');
        if (down) power = -power;
    }
    if (digits_ == 0) {
        negative_ = false;
        return;
    }
    exponent_ = place + dropped + power;
    lowest_ = last + power;
    while (digits_ % 10 == 0) {
        digits_ /= 10;
        ++exponent_;
    }
}

std::optional<int64_t> Decimal::integer() const {
    if (digits_ == 0) return 0;
    if (!exact_ || exponent_ < 0 || digit_count(digits_) + exponent_ > 18) return std::nullopt;
    const auto value = static_cast<int64_t>(scaled(digits_, exponent_));
    return negative_ ? -value : value;
}

int Decimal::compare_magnitude(const Decimal& other) const {
    if (digits_ == 0 || other.digits_ == 0) {
        return (digits_ != 0 ? 1 : 0) - (other.digits_ != 0 ? 1 : 0);
    }
    const int64_t top = digit_count(digits_) + exponent_;
    const int64_t other_top = digit_count(other.digits_) + other.exponent_;
    if (top != other_top) return top < other_top ? -1 : 1;
    // Both have the same number of digits before the point, so the exponents differ by less than
    // 19.
    const int64_t low = exponent_ < other.exponent_ ? exponent_ : other.exponent_;
    const Wide one = scaled(digits_, exponent_ - low);
    const Wide two = scaled(other.digits_, other.exponent_ - low);
    if (one != two) return one < two ? -1 : 1;
    if (exact_ && other.exact_) return 0;
    const double mine = std::fabs(double_of(text_));
    const double theirs = std::fabs(double_of(other.text_));
    return mine < theirs ? -1 : mine > theirs ? 1 : 0;
}

int Decimal::compare(const Decimal& other) const {
    if (negative_ != other.negative_) return negative_ ? -1 : 1;
    const int magnitude = compare_magnitude(other);
    return negative_ ? -magnitude : magnitude;
}

bool Decimal::is_multiple_of(const Decimal& step) const {
    if (digits_ == 0) return true;
    if (step.digits_ == 0) return false;
    if (!exact_ || !step.exact_) {
        return std::fmod(double_of(text_), double_of(step.text_)) == 0.0;
    }
    const int64_t more = exponent_ - step.exponent_;
    if (more >= 0) {
        const Wide left = digits_ % step.digits_;
        return left * power_of_ten_modulo(more, step.digits_) % step.digits_ == 0;
    }
    // The step has to be scaled up. Digits have no trailing zeros, so a step that needs more than
    // 19 places cannot divide the value.
    if (more < -kDigits) return false;
    return Wide{digits_} % scaled(step.digits_, -more) == 0;
}

uint64_t Decimal::hash(uint64_t seed) const {
    uint64_t out = digits_ * 0x9E3779B97F4A7C15ull;
    out ^= static_cast<uint64_t>(exponent_) * 0xC2B2AE3D27D4EB4Full;
    out ^= negative_ ? 0x165667B19E3779F9ull : 0;
    out = (out ^ seed) * 0xFF51AFD7ED558CCDull;
    return out ^ (out >> 32);
}

bool is_integer_text(std::string_view text) {
    for (const char c : text) {
        if (c == '.' || c == 'e' || c == 'E') return Decimal(text).is_integer();
    }
    return true;
}

}  // namespace narratoria::tool
