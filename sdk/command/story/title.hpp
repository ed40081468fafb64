// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a story is called, for the line above the first turn.

#include <string>

namespace narratoria::command {

// The title in the folder's story.toml; empty when it cannot be read. Whether the story is right is
// for the session to say.
std::string story_title(const std::string& folder);

}  // namespace narratoria::command
