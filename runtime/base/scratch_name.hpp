// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace narratoria {

// What the names of scratch folders of sandboxes begin with. They go with their invocation.
inline constexpr std::string_view kScratchName = "narratoria-scratch-";

}  // namespace narratoria
