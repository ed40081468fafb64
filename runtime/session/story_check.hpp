// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "session/prompts.hpp"
#include "session/story.hpp"

namespace narratoria::session {

// Appends a warning for each tool, allowed path, narrator and plugin of a story that is not there or
// cannot be used. Warnings, because the host may have tools, narrators and plugins of its own, and
// because a story can be written on another machine. Looks at files and at the folders of plugins,
// and loads nothing.
void check_mentions(const Story& story, const Prompts& prompts, Faults& faults);

}  // namespace narratoria::session
