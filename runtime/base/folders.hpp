// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace narratoria {

// The folder of this library, so that an installation can be relocated. Empty if it is unknown.
std::string library_folder();

}  // namespace narratoria
