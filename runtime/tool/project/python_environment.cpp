// SPDX-License-Identifier: Apache-2.0
#include "tool/project/python_environment.hpp"

#include <filesystem>

#include "base/json/writer.hpp"
#include "process/find_program.hpp"

namespace narratoria::tool::project {

PythonEnvironment find_python(const std::string& root, const std::string& configured,
                              const std::vector<std::string>& environment) {
    namespace fs = std::filesystem;
    std::error_code none;
    PythonEnvironment python;
    python.dependencies = fs::exists(root + "/pyproject.toml", none)     ? "pyproject"
                          : fs::exists(root + "/requirements.txt", none) ? "requirements"
                                                                         : "none";
    const std::string venv = root + "/.venv";
    // A broken link is there, too: the user meant a virtual environment.
    if (fs::symlink_status(venv, none).type() != fs::file_type::not_found) {
        python.kind = "venv";
        python.interpreter = venv + "/bin/python";
        if (!process::is_program(python.interpreter)) {
            python.problem = "the project has a .venv without Python: there is no program " +
                             python.interpreter +
                             "; make it again with \"python3 -m venv --clear " + venv +
                             "\", or remove it";
        }
        return python;
    }
    python.kind = "system";
    if (!configured.empty()) {
        python.interpreter = configured.front() == '/' ? configured : root + "/" + configured;
        if (!process::is_program(python.interpreter)) {
            python.problem = "the Python that namel3ss.toml names, " + json::quoted(configured) +
                             ", is no program";
        }
        return python;
    }
    std::string reason;
    python.interpreter = process::find_program("python3", environment, reason);
    if (python.interpreter.empty()) {
        python.problem = "the project's tools need Python, and " + reason + "; install python3";
    }
    return python;
}

}  // namespace narratoria::tool::project
