// SPDX-License-Identifier: Apache-2.0
#pragma once
// What can be written at the cursor in a line of Nuwa Script.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace narratoria::command::script {

struct Completion {
    std::size_t typed = 0;           // bytes of the word that stand in front of the cursor
    std::vector<std::string> words;  // those that begin with them, sorted
};

using Names = std::function<std::vector<std::string>()>;

// `before`: the line in front of the cursor. Behind CALL a tool can stand; in a string, a comment, a
// number and behind "." nothing that is known. Only the names that can stand there are asked for.
Completion complete(std::string_view before, const Names& tools, const Names& variables);

// What all of them begin with.
std::string_view common_beginning(const std::vector<std::string>& words);

}  // namespace narratoria::command::script
