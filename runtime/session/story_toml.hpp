// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reader of story.toml. Only its source file includes the TOML library.

#include <string_view>

#include "base/fault.hpp"
#include "session/story.hpp"

namespace narratoria::session {

inline constexpr const char* kStoryToml = "story.toml";

// Parses the text of a story.toml into `story`; story.folder must be set. Faults have a line and
// column and are sorted by position.
void read_story_toml(std::string_view text, Story& story, Faults& faults);

}  // namespace narratoria::session
