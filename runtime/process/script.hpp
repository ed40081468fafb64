// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

namespace narratoria::process {

// Returns the fault of the interpreter line of the script at `path`, as the predicate of a sentence
// about the file: "names an interpreter that does not exist: #!/bin/zsh". Empty if there is none,
// or if the file is not text.
std::string script_fault(const std::string& path);

// Returns the words after "#!" in the script at `path`, as the kernel reads them: the interpreter
// and optionally a single argument. Empty if the file is not a script.
std::vector<std::string> interpreter_line(const std::string& path);

// Returns a path as a word of a shell command in a message: quoted if it has other characters than
// letters, digits and "/._-+@%,:=".
std::string shell_word(const std::string& path);

}  // namespace narratoria::process
