// SPDX-License-Identifier: Apache-2.0
#pragma once
// The narrators that the runtime has itself. Each is a plugin without a file, so that all narrators
// share one path. To add one, add its id to plugin::kBuiltInIds and a row to the table.

#include <string>
#include <string_view>

#include "plugin/library.hpp"
#include "session/story.hpp"

namespace narratoria::session {

struct BuiltInNarrator {
    std::string_view id;     // of its plugin
    std::string_view shown;  // how it is named, for messages
    std::string_view file;   // of the story, from which it answers; for messages
    // Whether `name`, that of [narrator] or of the host, means this narrator.
    bool (*is_named)(std::string_view name);
    const plugin::Library& (*library)();
    // The settings of its plugin, a JSON object.
    std::string (*settings)(const Story& story, std::string_view name);
};

// NULL if `name` means none.
const BuiltInNarrator* find_built_in(std::string_view name);

// For messages: "template" and "FILE.nuwa" are built in.
std::string list_built_in();

}  // namespace narratoria::session
