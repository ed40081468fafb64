// SPDX-License-Identifier: Apache-2.0
#include "web/title.hpp"

#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

namespace narratoria::web {

std::string story_title(std::string_view folder) {
    const std::string fallback = "Narratoria";
    if (folder.empty()) return fallback;
    const toml::parse_result story = toml::parse_file(std::string(folder) + "/story.toml");
    if (!story) return fallback;
    return story.table()["title"].value_or(fallback);
}

}  // namespace narratoria::web
