// SPDX-License-Identifier: Apache-2.0
#include "story/title.hpp"

#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include <optional>
#include <string_view>

#include "io/file.hpp"
#include "io/message.hpp"

namespace narratoria::command {

std::string story_title(const std::string& folder) {
    std::optional<std::string> text;
    try {
        text = read_document_if_there(folder + "/story.toml", "story");
    } catch (const Refused&) {
        return {};
    }
    if (!text) return {};
    const toml::parse_result story = toml::parse(std::string_view(*text));
    if (!story) return {};
    return story.table()["title"].value_or(std::string());
}

}  // namespace narratoria::command
