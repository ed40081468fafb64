// SPDX-License-Identifier: Apache-2.0
#pragma once
// JSON numbers compared by value, without the rounding of a double: 0.0075 is a multiple of 0.0001,
// and 9007199254740993 is not 9007199254740992.

#include <cstdint>
#include <optional>
#include <string_view>

namespace narratoria::tool {

// ±digits × 10^exponent. Numbers with more than 19 significant digits keep the first 19; comparing
// two of them falls back to doubles if those 19 are equal. The text must outlive the number.
class Decimal {
public:
    Decimal() = default;
    // `text` must be a valid JSON number.
    explicit Decimal(std::string_view text);

    // 2.0, 2e3 and 10^30 are integers, 2.5 is not.
    bool is_integer() const { return lowest_ >= 0; }
    // The value of an integer below 10^18 in size.
    std::optional<int64_t> integer() const;
    bool is_positive() const { return digits_ != 0 && !negative_; }
    // By value, and always decided by it: finite decimals only.
    bool is_multiple_of(const Decimal& step) const;
    // Below zero, zero, or above zero, like strcmp.
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

// Faster than Decimal for the usual case: digits only.
bool is_integer_text(std::string_view text);

}  // namespace narratoria::tool
