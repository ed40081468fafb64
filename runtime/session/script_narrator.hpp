// SPDX-License-Identifier: Apache-2.0
#pragma once
// The built-in narrator that runs a Nuwa script of the story. Each question runs the script from
// its beginning. Its CALLs are invocations of the question (narratoria.invoke/1), and the lines
// that it prints are the narrative of a plan without tools.
//
// A script that fails because a tool failed is run again, because its variable disabledSkills has
// changed. Any other error would repeat, and so would completed CALLs, so the narrator gives up.

#include <string>
#include <string_view>
#include <vector>

#include "plugin/library.hpp"
#include "session/story.hpp"

namespace narratoria::session {

inline constexpr const char* kScriptNarrator = plugin::kBuiltInIds[1];

// The names of the variables that a narrator's script is given.
std::vector<std::string_view> script_narrator_scope();

// The narrator as a built-in plugin without a file. The settings hold the text of the story's
// script `name`, or the reason why it cannot be used.
const plugin::Library& script_narrator_library();
std::string script_narrator_settings(const Story& story, std::string_view name);

}  // namespace narratoria::session
