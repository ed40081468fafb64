// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rules of story.toml. Only this file knows the TOML library.

#include <string_view>

#include "base/fault.hpp"
#include "session/story.hpp"

namespace narratoria::session {

inline constexpr const char* kStoryToml = "story.toml";

// Reads the text of a story.toml into `story`, whose folder is set. The faults carry their line and
// column, in the order of the text.
void read_story_toml(std::string_view text, Story& story, Faults& faults);

}  // namespace narratoria::session
