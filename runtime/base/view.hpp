// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
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

// True for a text with a size but no data, which a caller must not pass.
inline bool lacks_data(nar_str text) { return text.data == nullptr && text.size > 0; }

// given_text() throws it.
struct TextWithoutData {
    uint64_t size;
};

// view() of a text that a plugin passes to a service of the host, which refuses the call if the
// text lacks its data: the guards of host_call.hpp catch the exception.
inline std::string_view given_text(nar_str text) {
    if (lacks_data(text)) throw TextWithoutData{text.size};
    return view(text);
}

}  // namespace narratoria
