// SPDX-License-Identifier: Apache-2.0
#include "tool/project/python_environment.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>

#include "base/environment.hpp"
#include "base/json/writer.hpp"
#include "process/find_program.hpp"
#include "process/script.hpp"

namespace narratoria::tool::project {

namespace {

// True if the program contains symbols of Python: it is Python, or loads libpython.
bool has_python(std::istream& program) {
    constexpr std::array<std::string_view, 4> kNames = {"Py_BytesMain", "Py_Main", "Py_RunMain",
                                                        "pypy_main"};
    constexpr size_t kOverlap = 16;
    std::string part(size_t{1} << 20U, '\0');
    size_t kept = 0;
    while (program) {
        program.read(part.data() + kept, static_cast<std::streamsize>(part.size() - kept));
        const size_t size = kept + static_cast<size_t>(program.gcount());
        const std::string_view text(part.data(), size);
        const auto is_in = [&](std::string_view name) {
            return text.find(name) != std::string_view::npos;
        };
        if (std::any_of(kNames.begin(), kNames.end(), is_in)) return true;
        kept = std::min(size, kOverlap);
        std::copy_n(part.begin() + static_cast<std::ptrdiff_t>(size - kept), kept, part.begin());
    }
    return false;
}

}  // namespace

std::vector<std::string> read_variables(File& file) {
    constexpr std::string_view kBlanks = " \t\v\f\r";
    constexpr std::string_view kExport = "export";
    const auto strip = [](std::string_view part, std::string_view all) {
        part.remove_prefix(std::min(part.find_first_not_of(all), part.size()));
        return part.substr(0, part.find_last_not_of(all) + 1);
    };
    std::vector<std::string> out;
    std::string_view text = file.text().substr(file.mark_size());
    while (!text.empty()) {
        const auto byte = static_cast<size_t>(text.data() - file.text().data());
        const size_t end = std::min(text.find_first_of("\r\n"), text.size());
        const std::string_view line = strip(text.substr(0, end), kBlanks);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.empty() || line.starts_with('#')) continue;
        const size_t sign = line.find('=');
        std::string_view name = strip(line.substr(0, std::min(sign, line.size())), kBlanks);
        if (name.starts_with(kExport) && name.find_first_of(kBlanks) == kExport.size()) {
            name = strip(name.substr(kExport.size()), kBlanks);
        }
        if (sign == std::string_view::npos || name.empty() ||
            name.find_first_of(kBlanks) != std::string_view::npos ||
            line.find('\0') != std::string_view::npos) {
            file.warn(byte, "project-variable", "",
                      "this line is not a variable, and is ignored; write NAME=value, or # before "
                      "a comment");
            continue;
        }
        std::string_view value = strip(line.substr(sign + 1), kBlanks);
        for (const char* quote : {"\"", "'"}) value = strip(value, quote);
        set_variable(out, std::string(name) + "=" + std::string(value));
    }
    return out;
}

std::string interpreter_problem(const PythonEnvironment& python, const Guarantees& enforced) {
    std::ifstream file(python.interpreter, std::ios::binary);
    std::array<char, 4> start{};
    file.read(start.data(), start.size());
    const std::string_view magic(start.data(), static_cast<size_t>(file.gcount()));
    // A program may be executable but not readable; then there is nothing to check.
    if (magic.empty()) return {};
    if (magic == "\177ELF") {
        file.seekg(0);
        return has_python(file) ? "" : python.interpreter + " is a program, but not Python";
    }
    return script_problem(python, enforced);
}

std::string script_problem(const PythonEnvironment& python, const Guarantees& enforced) {
    for (const Guarantee each : {Guarantee::NoSubprocess, Guarantee::NoFilesystemRead}) {
        if (!enforced.requires_one(each)) continue;
        if (process::interpreter_line(python.interpreter).empty()) return {};
        return python.interpreter + " is a script, and " + std::string(name_of(each)) +
               " prevents it from starting Python; set \"python\" under "
               "[python_tools] in namel3ss.toml to the program itself (" +
               process::shell_word(python.interpreter) +
               " -c 'import sys; print(sys.executable)' prints it), or create a .venv";
    }
    return {};
}

PythonEnvironment find_python(const std::string& root, const std::string& configured,
                              const std::vector<std::string>& environment) {
    namespace fs = std::filesystem;
    std::error_code none;
    PythonEnvironment python;
    python.dependencies = fs::exists(root + "/pyproject.toml", none)     ? "pyproject"
                          : fs::exists(root + "/requirements.txt", none) ? "requirements"
                                                                         : "none";
    const std::string venv = root + "/.venv";
    // A dangling link counts as well: the user wanted a virtual environment.
    if (fs::symlink_status(venv, none).type() != fs::file_type::not_found) {
        python.kind = "venv";
        python.interpreter = venv + "/bin/python";
        if (!process::is_program(python.interpreter)) {
            python.problem = "the project has a .venv without Python: " + python.interpreter +
                             " is not a program (" + process::why_no_program(python.interpreter) +
                             "); create it again with \"python3 -m venv --clear " + venv +
                             "\", or remove it";
        }
        return python;
    }
    python.kind = "system";
    if (!configured.empty()) {
        python.interpreter = configured.front() == '/' ? configured : root + "/" + configured;
        std::string ignored;
        if (configured.find('/') == std::string::npos && !process::is_program(python.interpreter)) {
            python.interpreter = process::find_program(configured, environment, ignored);
        }
        const std::string why =
            process::is_program(python.interpreter)
                ? interpreter_problem(python, {})
                : process::why_no_program(python.interpreter.empty() ? configured
                                                                     : python.interpreter);
        if (!why.empty()) {
            python.problem = "\"python\" under [python_tools] in namel3ss.toml, " +
                             json::quoted(configured) + ", cannot be used: " + why;
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
