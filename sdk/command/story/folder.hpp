// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds the story's folder, for the commands that play a story.

#include <string>
#include <string_view>

namespace narratoria::command::story {

// The given folder, or the working folder if it has a story.toml. Throws Refused with a message
// that names `command` and says what to do.
std::string find_story(const std::string& given, std::string_view command);

}  // namespace narratoria::command::story
