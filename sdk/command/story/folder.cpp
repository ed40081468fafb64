// SPDX-License-Identifier: Apache-2.0
#include "story/folder.hpp"

#include <fmt/core.h>
#include <sys/stat.h>

#include <cerrno>

#include "io/message.hpp"

namespace narratoria::command::story {

std::string find_story(const std::string& given, std::string_view command) {
    struct stat status {};
    if (!given.empty()) {
        if (stat(given.c_str(), &status) != 0) {
            throw Refused(
                fmt::format("there is no story at {} ({}); give a folder with a story.toml",
                            display_path(given), reason(errno)));
        }
        if (!S_ISDIR(status.st_mode)) {
            throw Refused(
                fmt::format("{} is a file; give the story's folder, which contains story.toml",
                            display_path(given)));
        }
        return given;
    }
    if (stat("story.toml", &status) == 0) return ".";
    throw Refused(fmt::format(
        "there is no story.toml in the working folder; give a story: narratoria {} --story FOLDER",
        command));
}

}  // namespace narratoria::command::story
