// SPDX-License-Identifier: Apache-2.0
#pragma once
// The built-in narrators. Each is a plugin without a file, so that all narrators share one code
// path. To add one, add its id to plugin::kBuiltInIds and a row to the table.

#include <string>
#include <string_view>

#include "plugin/library.hpp"
#include "session/story.hpp"

namespace narratoria::session {

struct BuiltInNarrator {
    std::string_view id;     // of its plugin
    std::string_view shown;  // its name in messages
    std::string_view file;   // the story's file that it needs, in messages
    // True if `name` (of [narrator] or from the host) means this narrator.
    bool (*is_named)(std::string_view name);
    const plugin::Library& (*library)();
    // The settings of its plugin, a JSON object.
    std::string (*settings)(const Story& story, std::string_view name);
};

// NULL if `name` is not that of a built-in narrator.
const BuiltInNarrator* find_built_in(std::string_view name);

// Returns, for messages: "template" and "FILE.nuwa" are built in.
std::string list_built_in();

}  // namespace narratoria::session
