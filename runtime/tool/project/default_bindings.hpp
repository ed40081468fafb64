// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tools of a project that has no tools.yaml.

#include <string>
#include <string_view>
#include <vector>

#include "tool/project/bindings_file.hpp"

namespace narratoria::tool::project {

// Returns the tools of the modules tools/NAME.py and tools/NAME/__init__.py, ordered by name: those
// that the .ai files of the folder declare with a name like NAME; else NAME itself, if the module
// defines run. Reads files and runs nothing.
std::vector<Draft> find_default_bindings(const std::string& root);

// True if the text contains the word, as a whole identifier.
bool has_word(std::string_view text, std::string_view word);

}  // namespace narratoria::tool::project
