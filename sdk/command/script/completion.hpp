// SPDX-License-Identifier: Apache-2.0
#pragma once
// Completion of the word at the cursor in a line of Nuwa Script.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "input/line_editor.hpp"

namespace narratoria::command::script {

using Names = std::function<std::vector<std::string>()>;

// `before` is the line up to the cursor. After CALL, completes tools; in a string, a comment or a
// number, and after ".", completes nothing. Calls `tools` or `variables` only if it needs them.
input::Completion complete(std::string_view before, const Names& tools, const Names& variables);

}  // namespace narratoria::command::script
