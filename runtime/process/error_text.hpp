// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstring>
#include <string>

namespace narratoria::process {

// What an errno says, in English in every locale and from every thread.
inline std::string error_text(int error) {
    const char* text = ::strerrordesc_np(error);
    return text != nullptr ? text : "error " + std::to_string(error);
}

}  // namespace narratoria::process
