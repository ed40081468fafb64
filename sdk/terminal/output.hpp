// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace narratoria::terminal {

// Writes all of `text`, waiting on a non-blocking descriptor. False, with errno set, on failure.
bool write_all(int descriptor, std::string_view text);

}  // namespace narratoria::terminal
