// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace narratoria::terminal {

// Writes all of it, waiting where it must; false and errno when it cannot.
bool write_all(int descriptor, std::string_view text);

}  // namespace narratoria::terminal
