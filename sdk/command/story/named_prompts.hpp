// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "story/playthrough.hpp"

namespace narratoria::command::story {

// Appends the prompts of a pattern of which each capture has a place in the state, such as
// "take {thing:/here/{/room}}": one for each name that is there now, 100 at most. Other patterns have
// none.
void append_named_prompts(std::string_view pattern, const Playthrough& game,
                          std::vector<std::string>& out);

}  // namespace narratoria::command::story
