// SPDX-License-Identifier: Apache-2.0
#pragma once
// The built-in narrator that is a Nuwa script of the story. A question runs the script from its
// beginning: its CALLs are invocations of the question (narratoria.invoke/1), and the lines that it
// prints are the narrative of a plan without tools.
//
// A script that fails because a tool failed is run again, since its variable disabledSkills is
// another one then. Any other error would repeat, and CALLs that have completed with it, so the
// narrator gives up.

#include <string>
#include <string_view>

#include "plugin/library.hpp"
#include "session/story.hpp"

namespace narratoria::session {

inline constexpr const char* kScriptNarrator = plugin::kBuiltInIds[1];

// The narrator as a built-in plugin without a file. The settings hold the script `name` of the
// story, or why it cannot be used.
const plugin::Library& script_narrator_library();
std::string script_narrator_settings(const Story& story, std::string_view name);

}  // namespace narratoria::session
