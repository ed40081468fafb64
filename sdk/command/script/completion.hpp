// SPDX-License-Identifier: Apache-2.0
#pragma once
// Completion of the word at the cursor in a line of Nuwa Script.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace narratoria::command::script {

struct Completion {
    std::size_t typed = 0;           // bytes of the word before the cursor
    std::vector<std::string> words;  // the candidates that begin with these bytes, sorted
};

using Names = std::function<std::vector<std::string>()>;

// `before` is the line up to the cursor. After CALL, completes tools; in a string, a comment or a
// number, and after ".", completes nothing. Calls `tools` or `variables` only if it needs them.
Completion complete(std::string_view before, const Names& tools, const Names& variables);

// The longest common prefix.
std::string_view common_beginning(const std::vector<std::string>& words);

}  // namespace narratoria::command::script
