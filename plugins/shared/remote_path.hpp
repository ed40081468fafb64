// SPDX-License-Identifier: Apache-2.0
#pragma once
// The path of a tool that runs elsewhere, for runners that pass it to a client such as ssh or srun.

#include <narratoria/plugin.hpp>

#include <sys/stat.h>

#include <optional>
#include <string>
#include <string_view>

namespace narratoria::plugins {

// Removes "NAME:" from the front of `path` and returns NAME. Returns nothing if there is no such
// prefix: "./a:b" is a file whose name has a colon.
inline std::optional<std::string> take_name(std::string_view& path) {
    const std::size_t colon = path.find(':');
    if (colon == std::string_view::npos || path.substr(0, colon).find('/') != path.npos)
        return std::nullopt;
    std::string name(path.substr(0, colon));
    path.remove_prefix(colon + 1);
    return name;
}

// Returns the absolute path of a local file, which is relative to the plan's folder. Returns any
// other path unchanged, because it may exist only on the remote side. Throws CannotStart for a path
// that the client would take for an option, such as ssh's -oProxyCommand=….
inline std::string remote_path(std::string_view path, std::string_view plan_folder) {
    const std::string absolute = path.front() == '/'
                                     ? std::string(path)
                                     : std::string(plan_folder) + "/" + std::string(path);
    struct stat status {};
    if (::stat(absolute.c_str(), &status) == 0 && S_ISREG(status.st_mode)) return absolute;
    if (path.front() == '-') {
        throw plugin::CannotStart("\"" + std::string(path) +
                                  "\" is not a local file, and a path that is passed on must not "
                                  "begin with a dash; write ./" +
                                  std::string(path));
    }
    return std::string(path);
}

}  // namespace narratoria::plugins
