// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace narratoria {

// Returns the character for case-insensitive comparison: Unicode's simple case folding, which does
// not depend on language or locale.
char32_t case_folded(char32_t character);

}  // namespace narratoria
