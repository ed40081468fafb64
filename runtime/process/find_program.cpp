// SPDX-License-Identifier: Apache-2.0
#include "process/find_program.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "process/error_text.hpp"

namespace narratoria::process {

// X_OK alone is not enough: a directory is executable, too.
bool is_program(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
           ::access(path.c_str(), X_OK) == 0;
}

std::string why_no_program(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return error_text(errno);
    if (!S_ISREG(status.st_mode)) return "it is not a regular file";
    return ::access(path.c_str(), X_OK) == 0 ? "" : "it is not executable";
}

std::string find_program(const std::string& name, const std::vector<std::string>& environment,
                         std::string& reason) {
    if (name.find('/') != std::string::npos) return name;
    std::string_view path;
    for (const std::string& variable : environment) {
        if (variable.starts_with("PATH=")) path = std::string_view(variable).substr(5);
    }
    const std::string_view whole = path;
    while (!path.empty()) {
        const size_t colon = std::min(path.find(':'), path.size());
        const std::string folder(path.substr(0, colon));
        path.remove_prefix(std::min(colon + 1, path.size()));
        if (folder.empty() || folder.front() != '/') continue;
        std::string program = folder + "/" + name;
        if (is_program(program)) return program;
    }
    reason = "there is no program \"" + name + "\" in the tools' PATH (" + std::string(whole) + ")";
    return "";
}

}  // namespace narratoria::process
