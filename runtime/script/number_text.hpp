// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace narratoria::script {

// Appends the number in the format of ECMAScript's Number::toString: 1e+21, 1e-7,
// 0.30000000000000004, Infinity, NaN, and 0 for -0.
void append_number_text(std::string& out, double number);

}  // namespace narratoria::script
