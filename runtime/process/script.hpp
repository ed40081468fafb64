// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

namespace narratoria::process {

// What is wrong with the interpreter line of the script at `path`, as the end of a sentence about
// the file: "names an interpreter that is not there: #!/bin/zsh". Empty if nothing is, or if the file
// is not a text.
std::string script_trouble(const std::string& path);

// What follows "#!" in the script at `path`, as the kernel reads it: the interpreter and, if there is
// one, its only argument. Empty if the file is no script.
std::vector<std::string> interpreter_line(const std::string& path);

// A path as a word of a shell command that a message advises: quoted if it has more than letters,
// digits and "/._-+@%,:=".
std::string shell_word(const std::string& path);

}  // namespace narratoria::process
