// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace narratoria {

// The character that it is compared by where case does not matter: Unicode's simple case folding, the
// same in every language and locale.
char32_t case_folded(char32_t character);

}  // namespace narratoria
