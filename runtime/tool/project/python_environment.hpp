// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "tool/project/binding.hpp"
#include "tool/project/tree.hpp"

namespace narratoria::tool::project {

// Finds the Python of a project: its .venv, else `configured`, else python3 in the PATH of
// `environment` (the tools' variables, NAME=value). Leaves `path`, for PYTHONPATH, empty.
PythonEnvironment find_python(const std::string& root, const std::string& configured,
                              const std::vector<std::string>& environment);

// Reads a .env file: a NAME=value per line, without the spaces and quotes around the value, and
// optionally after "export ". Ignores comments. Warns of other lines, without quoting them: they may
// contain a secret.
std::vector<std::string> read_variables(File& file);

// Returns the reason why an executable interpreter cannot run tools; empty if it can. Reads the
// file and runs nothing. `enforced`: the guarantees that will be enforced.
std::string interpreter_problem(const PythonEnvironment& python, const Guarantees& enforced);
// The check for the guarantees under which a script (such as pyenv's) cannot start Python.
std::string script_problem(const PythonEnvironment& python, const Guarantees& enforced);

}  // namespace narratoria::tool::project
