// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the story is called.

#include <string>
#include <string_view>

namespace narratoria::web {

// The title in the folder's story.toml; "Narratoria" when there is no story or no title.
std::string story_title(std::string_view folder);

}  // namespace narratoria::web
