// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace narratoria {

// The prefix of the names of sandboxes' scratch folders, which are removed when their tool ends.
inline constexpr std::string_view kScratchName = "narratoria-scratch-";

}  // namespace narratoria
