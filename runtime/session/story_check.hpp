// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "session/prompts.hpp"
#include "session/story.hpp"

namespace narratoria::session {

// Appends a warning for each tool, allowed path, narrator and plugin of a story that does not exist
// or cannot be used. They are warnings, because the host may have its own tools, narrators and
// plugins, and because a story can be written on a different machine. Reads files and the folders
// of plugins, and loads nothing.
void check_mentions(const Story& story, const Prompts& prompts, Faults& faults);

}  // namespace narratoria::session
