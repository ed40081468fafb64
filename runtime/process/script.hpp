// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace narratoria::process {

// What is wrong with the interpreter line of the script at `path`, as the end of a sentence about
// the file: "names an interpreter that is not there: #!/bin/zsh". Empty if nothing is, or if the file
// is no script.
std::string script_trouble(const std::string& path);

}  // namespace narratoria::process
