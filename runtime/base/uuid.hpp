// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace narratoria {

// A random UUID (version 4), in lower case.
std::string make_uuid();

}  // namespace narratoria
