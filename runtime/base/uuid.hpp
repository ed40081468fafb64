// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace narratoria {

// Returns a random UUID (version 4) in lower case. Thread-safe. Throws if the kernel has no random
// bytes.
std::string make_uuid();

}  // namespace narratoria
