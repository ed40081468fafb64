// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string_view>

#include "narratoria/base.h"

namespace narratoria {

// Converts a text of the C ABI; {NULL, n} is empty. The view is valid as long as the caller's
// bytes.
inline std::string_view view(nar_str text) {
    return text.data == nullptr ? std::string_view()
                                : std::string_view(text.data, static_cast<size_t>(text.size));
}
inline nar_str view(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace narratoria
