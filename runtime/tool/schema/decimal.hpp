// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compares JSON numbers by value, without the rounding of a double: 0.0075 is a multiple of 0.0001,
// and 9007199254740993 differs from 9007199254740992.

#include <cstdint>
#include <optional>
#include <string_view>

namespace narratoria::tool {

// The number ±digits × 10^exponent. Keeps at most 19 significant digits. If two longer numbers have
// equal digits, their comparison falls back to doubles. The text must outlive the number.
class Decimal {
public:
    Decimal() = default;
    // `text` must be a valid JSON number.
    explicit Decimal(std::string_view text);

    // 2.0, 2e3 and 10^30 are integers, 2.5 is not.
    bool is_integer() const { return lowest_ >= 0; }
    // Returns the value of an integer with a magnitude below 10^18.
    std::optional<int64_t> integer() const;
    bool is_positive() const { return digits_ != 0 && !negative_; }
    bool is_multiple_of(const Decimal& step) const;
    // Returns a negative number, zero, or a positive number, like strcmp.
    int compare(const Decimal& other) const;
    uint64_t hash(uint64_t seed) const;

    std::string_view text() const { return text_; }

private:
    int compare_magnitude(const Decimal& other) const;

    std::string_view text_;
    uint64_t digits_ = 0;  // without trailing zeros; 0 only for zero
    int64_t exponent_ = 0;
    int64_t lowest_ = 0;  // the exponent of the last digit that is not zero
    bool negative_ = false;
    bool exact_ = true;
};

// Like Decimal(text).is_integer(), but faster if the text has only digits.
bool is_integer_text(std::string_view text);

}  // namespace narratoria::tool
