// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "tool/project/binding.hpp"

namespace narratoria::tool::project {

// The Python of a project: that of its .venv if it has one, else `configured`, else the python3 of
// the tools' PATH in `environment` (NAME=value). The path for PYTHONPATH stays empty.
PythonEnvironment find_python(const std::string& root, const std::string& configured,
                              const std::vector<std::string>& environment);

// Why the interpreter cannot run tools although it is a program; empty if nothing is wrong with it.
// Looks at the file and runs nothing. `starts_nothing`: it will be kept from starting processes.
std::string interpreter_problem(const PythonEnvironment& python, bool starts_nothing);
// The part of it for no_subprocess: it is a script, as that of pyenv, which would have to start Python.
std::string script_problem(const PythonEnvironment& python);

}  // namespace narratoria::tool::project
