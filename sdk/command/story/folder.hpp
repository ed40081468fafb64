// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which story is meant, for the commands that play one.

#include <string>
#include <string_view>

namespace narratoria::command::story {

// The folder that was given, or the working folder when it has a story.toml. Throws Refused with
// what to do; `command` is named there.
std::string find_story(const std::string& given, std::string_view command);

}  // namespace narratoria::command::story
