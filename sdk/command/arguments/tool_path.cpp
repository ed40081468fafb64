// SPDX-License-Identifier: Apache-2.0
#include "arguments/tool_path.hpp"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/near_file.hpp"
#include "io/file.hpp"
#include "io/message.hpp"

namespace narratoria::command {

ToolFile find_tool(const std::string& given) {
    const std::string path = absolute_path(given);
    struct stat status {};
    if (given.empty() || stat(path.c_str(), &status) != 0) {
        const int error = given.empty() ? ENOENT : errno;
        const std::string near = given.empty() ? given : near_file(given, path);
        throw Refused(
            fmt::format("cannot find the tool {} ({}); {}", display_path(given), reason(error),
                        near.empty() ? "give the path of a program, for example ./tools/dice (PATH "
                                       "is not searched)"
                                     : fmt::format("did you mean {}?", display_path(near))));
    }
    if (S_ISDIR(status.st_mode)) {
        throw Refused(fmt::format("{} is a folder; give the path of the tool's program",
                                  display_path(given)));
    }
    if (access(path.c_str(), X_OK) != 0) {
        throw Refused(fmt::format("{} cannot be run ({}); make it executable: chmod +x {}",
                                  display_path(given), reason(errno), shell_word(given)));
    }
    return {path, path.substr(path.rfind('/') + 1)};
}

}  // namespace narratoria::command
