// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstring>
#include <string>

namespace narratoria::process {

// Returns the text of an errno, always in English. Thread-safe, unlike strerror.
inline std::string error_text(int error) {
    const char* text = ::strerrordesc_np(error);
    return text != nullptr ? text : "error " + std::to_string(error);
}

}  // namespace narratoria::process
