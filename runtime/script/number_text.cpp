// SPDX-License-Identifier: Apache-2.0
#include "script/number_text.hpp"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace narratoria::script {

void append_number_text(std::string& out, double number) {
    char text[40];
    if (std::fabs(number) < 9007199254740992.0) {
        const auto whole = static_cast<int64_t>(number);
        if (static_cast<double>(whole) == number) {
            out.append(text, std::to_chars(text, text + sizeof text, whole).ptr);
            return;
        }
    }
    if (std::isnan(number)) {
        out += "NaN";
        return;
    }
    if (number < 0) {
        out += '-';
        number = -number;
    }
    if (std::isinf(number)) {
        out += "Infinity";
        return;
    }
    // The shortest digits that parse to the same number, as d.ddde±xx.
    const char* end =
        std::to_chars(text, text + sizeof text, number, std::chars_format::scientific).ptr;
    const std::string_view written(text, static_cast<size_t>(end - text));
    const size_t mark = written.find('e');
    std::string digits(1, written[0]);
    if (mark > 2) digits.append(written.substr(2, mark - 2));
    int exponent = 0;
    const char* first = text + mark + 1;
    if (*first == '+') ++first;
    std::from_chars(first, end, exponent);

    const int count = static_cast<int>(digits.size());
    const int point = exponent + 1;  // number of digits before the decimal point
    if (point > 21 || point < -5) {
        out += digits[0];
        if (count > 1) {
            out += '.';
            out.append(digits, 1);
        }
        out += exponent < 0 ? "e-" : "e+";
        out += std::to_string(std::abs(exponent));
    } else if (point <= 0) {
        out += "0.";
        out.append(static_cast<size_t>(-point), '0');
        out += digits;
    } else if (point >= count) {
        out += digits;
        out.append(static_cast<size_t>(point - count), '0');
    } else {
        out.append(digits, 0, static_cast<size_t>(point));
        out += '.';
        out.append(digits, static_cast<size_t>(point));
    }
}

}  // namespace narratoria::script
